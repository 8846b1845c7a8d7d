#include "objects/node_selectors.h"

#include <algorithm>
#include <optional>

#include "objects/requirement.h"

namespace porthole::objects {

using api::core::v1::Node;
using api::core::v1::NodeSelector;
using api::core::v1::NodeSelectorRequirement;
using api::core::v1::NodeSelectorTerm;
using api::core::v1::PodSpec;

namespace {

bool holds(const NodeSelectorRequirement& requirement, const std::string* value) {
    const std::optional<Operator> operation = parse_operator(requirement.operator_);
    return operation && objects::holds(*operation, requirement.values, value);
}

}  // namespace

bool matches(const NodeSelectorTerm& term, const Labels& labels, const std::string& name) {
    if (term.match_expressions.empty() && term.match_fields.empty()) return false;
    const auto label = [&](const NodeSelectorRequirement& requirement) {
        const auto found = labels.find(requirement.key);
        return holds(requirement, found == labels.end() ? nullptr : &found->second);
    };
    const auto field = [&](const NodeSelectorRequirement& requirement) {
        return requirement.key == "metadata.name" && holds(requirement, &name);
    };
    return std::ranges::all_of(term.match_expressions, label) && std::ranges::all_of(term.match_fields, field);
}

bool matches(const NodeSelectorTerm& term, const Node& node) { return matches(term, node.metadata.labels, node.metadata.name); }

bool matches(const NodeSelector& selector, const Labels& labels, const std::string& name) {
    return std::ranges::any_of(selector.node_selector_terms, [&](const NodeSelectorTerm& term) { return matches(term, labels, name); });
}

bool matches(const NodeSelector& selector, const Node& node) { return matches(selector, node.metadata.labels, node.metadata.name); }

bool accepts_node(const PodSpec& spec, const Labels& labels, const std::string& name) {
    if (!contains_all(labels, spec.node_selector)) return false;
    if (!spec.affinity || !spec.affinity->node_affinity) return true;
    const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    return !required || matches(*required, labels, name);
}

}  // namespace porthole::objects
