#include "objects/requirement.h"

#include <algorithm>
#include <charconv>

namespace porthole::objects {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<Operator> parse_operator(std::string_view name) {
    if (name == "In") return Operator::In;
    if (name == "NotIn") return Operator::NotIn;
    if (name == "Exists") return Operator::Exists;
    if (name == "DoesNotExist") return Operator::DoesNotExist;
    if (name == "Gt") return Operator::GreaterThan;
    if (name == "Lt") return Operator::LessThan;
    return std::nullopt;
}

bool holds(Operator operation, const std::vector<std::string>& values, const std::string* value) {
    const auto listed = [&] { return std::ranges::find(values, *value) != values.end(); };
    switch (operation) {
        case Operator::In:
            return value && listed();
        case Operator::NotIn:
            return !value || !listed();
        case Operator::Exists:
            return value != nullptr;
        case Operator::DoesNotExist:
            return value == nullptr;
        case Operator::GreaterThan:
        case Operator::LessThan:
            break;
    }
    if (!value || values.size() != 1) return false;
    const auto number = whole_number(*value), bound = whole_number(values.front());
    return number && bound && (operation == Operator::GreaterThan ? *number > *bound : *number < *bound);
}

}  // namespace porthole::objects
