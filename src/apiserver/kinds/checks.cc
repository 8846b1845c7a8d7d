#include "apiserver/kinds/checks.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

bool is_choice(std::string_view value, Choices choices) { return std::ranges::find(choices, value) != choices.end(); }

}  // namespace

void check_choice(const std::string& value, Choices choices, const FieldPath& path, FieldErrors& errors) {
    if (!is_choice(value, choices)) errors.not_supported(path, value, choices);
}
void check_required_choice(const std::string& value, Choices choices, const FieldPath& path, FieldErrors& errors) {
    if (check_required(value, path, errors)) check_choice(value, choices, path, errors);
}
void check_choice(const std::optional<std::string>& value, Choices choices, const FieldPath& path, FieldErrors& errors) {
    if (value) check_choice(*value, choices, path, errors);
}

bool check_required(const std::string& value, const FieldPath& path, FieldErrors& errors) {
    if (value.empty()) errors.required(path);
    return !value.empty();
}
void check_format(const std::string& value, FormatCheck format, const FieldPath& path, FieldErrors& errors) {
    if (!value.empty()) invalid_all(errors, path, value, format(value));
}
void check_required_format(const std::string& value, FormatCheck format, const FieldPath& path, FieldErrors& errors) {
    if (check_required(value, path, errors)) invalid_all(errors, path, value, format(value));
}

void check_driver_name(const std::string& value, const FieldPath& path, FieldErrors& errors) {
    constexpr std::size_t Longest = 63;
    if (!check_required(value, path, errors)) return;
    if (value.size() > Longest) errors.too_long(path, Longest);
    invalid_all(errors, path, value, names::check_dns1123_subdomain(to_lower(value)));
}

}  // namespace porthole::apiserver
