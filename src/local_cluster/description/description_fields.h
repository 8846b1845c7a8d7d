#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::local_cluster {

/// "spec.pools[1].os: must be linux or windows"
Error wrong(const std::string& path, const std::string& what);

/// An object of a description, with its path there; the value must outlive it. Every error is a BadRequest with the field. An absent field
/// leaves its target unchanged.
class Fields {
public:
    Fields(const schema::Value& value, std::string path) : value_(&value), path_(std::move(path)) {}

    /// Refuses a value that is not an object, and fields that are not `known`.
    Result<void> check(std::initializer_list<std::string_view> known) const;
    Fields inner(std::string_view name) const { return {schema::at(*value_, name), at(name)}; }
    const schema::Value& value() const { return *value_; }
    const std::string& path() const { return path_; }
    /// The path of a field.
    std::string at(std::string_view name) const { return path_.empty() ? std::string(name) : path_ + "." + std::string(name); }

    Result<void> read(std::string_view name, std::string& into) const;
    Result<void> read(std::string_view name, bool& into) const;
    Result<void> read(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t& into) const;
    Result<void> read(std::string_view name, std::vector<std::string>& into) const;
    Result<void> read(std::string_view name, std::map<std::string, std::string>& into) const;
    /// The objects of a list, of which there are 1 to `most`.
    Result<std::vector<Fields>> list(std::string_view name, std::size_t most) const;

private:
    const schema::Value* value_;
    std::string path_;
};

/// The document, with its apiVersion, kind and outer fields checked.
Result<schema::Value> parse_description(std::string_view yaml);

/// The pools of a description's spec; none where it names none.
Result<std::vector<Fields>> read_pool_list(const Fields& spec);

}  // namespace porthole::local_cluster
