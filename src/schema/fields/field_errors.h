#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// A path in an object: "spec.containers[0].name", "metadata.labels[a/b]". Built by appending; a value. Validating a pod makes dozens, of
/// which an error needs one: short ones are kept in place.
class FieldPath {
public:
    FieldPath() = default;
    FieldPath(std::string_view path) { assign({path}); }
    FieldPath(const char* path) : FieldPath(std::string_view(path)) {}
    FieldPath(const std::string& path) : FieldPath(std::string_view(path)) {}
    FieldPath(const FieldPath& other) : FieldPath(other.text()) {}
    FieldPath& operator=(const FieldPath& other);

    FieldPath child(std::string_view name) const;
    FieldPath index(std::size_t position) const;
    FieldPath key(std::string_view name) const;
    std::string_view text() const { return {size_ > Room ? far_.get() : near_, size_}; }

private:
    static constexpr std::size_t Room = 80;

    void assign(std::initializer_list<std::string_view> parts);

    std::size_t size_ = 0;
    char near_[Room];  // up to size_; unused where that is more
    std::unique_ptr<char[]> far_;
};

/// The errors of an object, cause by cause, in the order found and with Kubernetes' messages. See apimachinery:
/// pkg/util/validation/field/errors.go. Each function adds one cause of the type in its name.
///
/// A body of 3 MiB can have 300,000 errors, with paths of megabytes. After 1,000 causes, or 1 MiB of them, further ones are only counted.
class FieldErrors {
public:
    static constexpr std::size_t MostCauses = 1'000, MostBytes = 1 << 20;

    void required(const FieldPath& path, std::string_view detail = "");
    void invalid(const FieldPath& path, const Value& bad, std::string_view detail);
    /// Without the value: of objects and lists, which would hide the detail.
    void invalid_as_a_whole(const FieldPath& path, std::string_view detail);
    void type_invalid(const FieldPath& path, const Value& bad, std::string_view detail);
    void not_supported(const FieldPath& path, const Value& bad, std::span<const std::string_view> supported);
    void not_supported(const FieldPath& path, const Value& bad, std::initializer_list<std::string_view> supported) {
        not_supported(path, bad, std::span(supported.begin(), supported.size()));
    }
    void duplicate(const FieldPath& path, const Value& bad);
    void duplicate_as_a_whole(const FieldPath& path);
    void not_found(const FieldPath& path, const Value& bad, std::string_view detail = "");
    void forbidden(const FieldPath& path, std::string_view detail);
    void too_long(const FieldPath& path, std::size_t max_bytes);
    void too_long_characters(const FieldPath& path, std::size_t max_characters);
    void too_many(const FieldPath& path, std::size_t actual, std::size_t max_items);
    void too_few(const FieldPath& path, std::size_t actual, std::size_t min_items);
    void internal(const FieldPath& path, std::string_view detail);

    /// A warning for the client; the object stays valid.
    void warn(std::string text) { warnings_.push_back(std::move(text)); }

    bool empty() const { return causes_.empty(); }
    std::size_t size() const { return causes_.size(); }
    /// `Cause::message` does not repeat the path.
    const std::vector<Cause>& causes() const { return causes_; }
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// Errors and warnings.
    void append(FieldErrors other);

    /// Reason::Invalid: `Pod "x" is invalid: spec.x: Required value`. Requires: not empty.
    Error to_error(std::string_view group, std::string_view kind, std::string_view name) const;
    /// The part after "is invalid: "; several errors in brackets, texts that repeat once.
    std::string text() const;

private:
    void add(const char* type, const FieldPath& path, std::string_view what, std::string_view value, std::string_view detail);

    void add(Cause cause);

    std::vector<Cause> causes_;
    std::size_t bytes_ = 0;     ///< of the causes' texts
    std::size_t left_out_ = 0;  ///< causes that are only counted
    std::vector<std::string> warnings_;
};

}  // namespace porthole::schema
