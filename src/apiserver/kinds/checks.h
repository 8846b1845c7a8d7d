#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

/// Rules that many kinds share. `path` is the path of the value.
namespace porthole::apiserver {

inline constexpr std::string_view FieldIsImmutable = "field is immutable";
inline constexpr std::string_view NotNegative = "must be greater than or equal to 0";
inline constexpr std::string_view GreaterThanZero = "must be greater than 0";

/// An array of the API, for the value that an error shows.
template <class Range>
schema::Value list_of(const Range& elements) {
    schema::Value list = schema::Value::array();
    for (const auto& element : elements) list.as_array().emplace_back(element);
    return list;
}

/// One invalid() unless `right`.
inline void check(bool right, const schema::Value& value, std::string_view detail, const FieldPath& path, FieldErrors& errors) {
    if (!right) errors.invalid(path, value, detail);
}

template <std::integral T>
void check_not_negative(T value, const FieldPath& path, FieldErrors& errors) {
    check(value >= 0, value, NotNegative, path, errors);
}
template <std::integral T>
void check_not_negative(const std::optional<T>& value, const FieldPath& path, FieldErrors& errors) {
    if (value) check_not_negative(*value, path, errors);
}
inline void check_in_range(std::int64_t value, std::int64_t low, std::int64_t high, const FieldPath& path, FieldErrors& errors) {
    invalid_all(errors, path, value, names::check_in_range(value, low, high));
}

using Choices = std::initializer_list<std::string_view>;
/// NotSupported unless it is one of the choices.
void check_choice(const std::string& value, Choices choices, const FieldPath& path, FieldErrors& errors);
/// Required when empty, else NotSupported unless it is one of the choices.
void check_required_choice(const std::string& value, Choices choices, const FieldPath& path, FieldErrors& errors);
/// An unset value is valid.
void check_choice(const std::optional<std::string>& value, Choices choices, const FieldPath& path, FieldErrors& errors);

/// True when the text is not empty; else Required.
bool check_required(const std::string& value, const FieldPath& path, FieldErrors& errors);
/// Text in one of the formats of names.h, when it is set.
using FormatCheck = names::Problems (*)(std::string_view);
void check_format(const std::string& value, FormatCheck format, const FieldPath& path, FieldErrors& errors);
/// Required when empty, else of that format.
void check_required_format(const std::string& value, FormatCheck format, const FieldPath& path, FieldErrors& errors);
/// The name of another object.
inline void check_object_name(const std::string& value, const FieldPath& path, FieldErrors& errors) {
    check_format(value, names::check_dns1123_subdomain, path, errors);
}

/// The name of a driver of volumes or devices: a domain name of at most 63 characters, in any case of letters.
void check_driver_name(const std::string& value, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
