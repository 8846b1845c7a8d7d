#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace porthole::schema {

class Value;
struct Member;
using Array = std::vector<Value>;

/// The members of a JSON object, in the order of insertion, with unique keys.
///
/// Beyond 32 members an index keeps `find` and `erase` constant; `erase` then moves the last member. Not thread-safe while changed.
class Object {
public:
    Object();
    Object(std::initializer_list<Member> members);
    Object(const Object& other);
    Object(Object&& other) noexcept;
    Object& operator=(Object other) noexcept;
    ~Object();

    std::size_t size() const;
    bool empty() const { return size() == 0; }
    Member* begin();
    Member* end();
    const Member* begin() const;
    const Member* end() const;

    Value* find(std::string_view key);
    const Value* find(std::string_view key) const;
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    /// The member's value; a new member is null and added at the end.
    Value& operator[](std::string_view key);
    /// Adds a member that must be absent: for decoders that have checked.
    Value& append(std::string key, Value value);
    bool erase(std::string_view key);
    /// Removes every member for which `unwanted(member)` is true, in one pass.
    template <class Predicate>
    std::size_t erase_if(Predicate unwanted);
    void clear();
    void reserve(std::size_t count);
    void sort_keys();

    /// The same members with equal values, in any order.
    bool operator==(const Object& other) const;

private:
    struct Index;
    std::ptrdiff_t position(std::string_view key) const;
    void reindex();

    std::vector<Member> members_;
    std::unique_ptr<Index> index_;  // only for large objects
};

/// A JSON value: our object tree. Copying copies deeply; moving is cheap.
class Value {
public:
    Value() = default;
    Value(std::nullptr_t) {}
    Value(bool value) : data_(value) {}
    Value(int value) : data_(std::int64_t{value}) {}
    Value(long value) : data_(std::int64_t{value}) {}
    Value(long long value) : data_(std::int64_t{value}) {}
    Value(unsigned value) : data_(std::int64_t{value}) {}
    Value(unsigned long value) : data_(static_cast<std::int64_t>(value)) {}
    Value(unsigned long long value) : data_(static_cast<std::int64_t>(value)) {}
    Value(double value) : data_(value) {}
    Value(const char* value) : data_(std::string(value)) {}
    Value(std::string_view value) : data_(std::string(value)) {}
    Value(std::string value) : data_(std::move(value)) {}
    Value(Array value) : data_(std::move(value)) {}
    Value(Object value) : data_(std::move(value)) {}
    static Value array(std::initializer_list<Value> items = {});
    /// `Value::object({{"a", 1}, {"b", "x"}})`; of a duplicate key the last value is kept.
    static Value object(std::initializer_list<Member> members = {});

    bool is_null() const { return data_.index() == 0; }
    bool is_bool() const { return std::holds_alternative<bool>(data_); }
    bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
    bool is_double() const { return std::holds_alternative<double>(data_); }
    bool is_number() const { return is_int() || is_double(); }
    bool is_string() const { return std::holds_alternative<std::string>(data_); }
    bool is_array() const { return std::holds_alternative<Array>(data_); }
    bool is_object() const { return std::holds_alternative<Object>(data_); }
    /// "null", "bool", "number", "string", "array" or "object", as in Kubernetes' decoding errors.
    const char* type_name() const;

    // Require the matching kind.
    bool as_bool() const { return std::get<bool>(data_); }
    std::int64_t as_int() const { return std::get<std::int64_t>(data_); }
    double as_double() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(data_); }
    const std::string& as_string() const { return std::get<std::string>(data_); }
    std::string& as_string() { return std::get<std::string>(data_); }
    const Array& as_array() const { return std::get<Array>(data_); }
    Array& as_array() { return std::get<Array>(data_); }
    const Object& as_object() const { return std::get<Object>(data_); }
    Object& as_object() { return std::get<Object>(data_); }

    // Fall back on another kind of value, as when a member is missing.
    bool bool_or(bool fallback) const { return is_bool() ? as_bool() : fallback; }
    std::int64_t int_or(std::int64_t fallback) const { return is_int() ? as_int() : fallback; }
    std::string_view string_or(std::string_view fallback) const { return is_string() ? std::string_view(as_string()) : fallback; }

    /// The member of an object; nullptr if there is none or this is not an object. Valid until the object changes.
    Value* find(std::string_view key) { return is_object() ? as_object().find(key) : nullptr; }
    const Value* find(std::string_view key) const { return is_object() ? as_object().find(key) : nullptr; }
    /// The member, created null if it is missing; a null value becomes an object first. Requires: null or object.
    Value& operator[](std::string_view key);
    bool erase(std::string_view key) { return is_object() && as_object().erase(key); }

    /// The value below: `object.at_path({"spec", "replicas"})`; nullptr if a step is missing.
    const Value* at_path(std::initializer_list<std::string_view> path) const;
    Value* at_path(std::initializer_list<std::string_view> path);
    /// The same, creating missing objects. Requires that existing values on the path are null or objects.
    Value& ensure_path(std::initializer_list<std::string_view> path);
    /// The string below, or "".
    std::string_view string_at(std::initializer_list<std::string_view> path) const;

    /// Objects compare without order; 1 and 1.0 are equal.
    bool operator==(const Value& other) const;

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
};

/// A key and value of an Object.
struct Member {
    std::string key;
    Value value;
};

/// Decimal digits.
void append_integer(std::int64_t number, std::string& out);
/// A number as JSON writes it. Requires: number.is_number().
void append_number(const Value& number, std::string& out);

/// A shared null, for lookups that return a reference.
const Value& null_value();
/// `value.find(key)` or the shared null.
inline const Value& at(const Value& value, std::string_view key) {
    const Value* found = value.find(key);
    return found ? *found : null_value();
}

template <class Predicate>
std::size_t Object::erase_if(Predicate unwanted) {
    const std::size_t before = members_.size();
    std::erase_if(members_, unwanted);
    if (members_.size() != before) reindex();
    return before - members_.size();
}

/// The maximum nesting of lists and objects that are read (JsonLimits, YamlLimits) or created by a patch: trees are copied, printed and
/// destroyed recursively, and a deeper one could not be read again.
inline constexpr std::size_t MaxTreeDepth = 512;

/// The nesting of lists and objects: 0 for a scalar, 1 for an empty list. If given, `*visited` is increased by the number of values.
std::size_t depth_of(const Value& value, std::size_t* visited = nullptr);

}  // namespace porthole::schema
