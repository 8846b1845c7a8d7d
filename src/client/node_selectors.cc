#include "client/node_selectors.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace porthole::client {

using api::core::v1::Node;
using api::core::v1::NodeSelector;
using api::core::v1::NodeSelectorRequirement;
using api::core::v1::NodeSelectorTerm;

namespace {

std::optional<std::int64_t> to_number(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool holds(const NodeSelectorRequirement& requirement, const std::string* value) {
    const auto listed = [&] { return std::ranges::find(requirement.values, *value) != requirement.values.end(); };
    const std::string& operation = requirement.operator_;
    if (operation == "In") return value && listed();
    if (operation == "NotIn") return !value || !listed();
    if (operation == "Exists") return value != nullptr;
    if (operation == "DoesNotExist") return value == nullptr;
    if ((operation != "Gt" && operation != "Lt") || !value || requirement.values.empty()) return false;
    const auto number = to_number(*value), bound = to_number(requirement.values[0]);
    return number && bound && (operation == "Gt" ? *number > *bound : *number < *bound);
}

}  // namespace

bool matches(const NodeSelectorTerm& term, const Node& node) {
    if (term.match_expressions.empty() && term.match_fields.empty()) return false;
    const auto label = [&](const NodeSelectorRequirement& requirement) {
        const auto found = node.metadata.labels.find(requirement.key);
        return holds(requirement, found == node.metadata.labels.end() ? nullptr : &found->second);
    };
    const auto field = [&](const NodeSelectorRequirement& requirement) {
        return requirement.key == "metadata.name" && holds(requirement, &node.metadata.name);
    };
    return std::ranges::all_of(term.match_expressions, label) && std::ranges::all_of(term.match_fields, field);
}

bool matches(const NodeSelector& selector, const Node& node) {
    return std::ranges::any_of(selector.node_selector_terms, [&](const NodeSelectorTerm& term) { return matches(term, node); });
}

}  // namespace porthole::client
