#include "controllers/daemonset/node_fit.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "client/selectors.h"

namespace porthole::controllers::daemon {
namespace {

using api::core::v1::NodeSelectorRequirement;
using api::core::v1::NodeSelectorTerm;
using api::core::v1::Taint;
using api::core::v1::Toleration;

Toleration exists(const char* key, const char* effect) {
    Toleration toleration;
    toleration.key = key;
    toleration.operator_ = "Exists";
    toleration.effect = effect;
    return toleration;
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    return toleration.operator_ == "Exists" || toleration.value == taint.value;
}

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

bool matches_affinity(const PodSpec& spec, const Node& node) {
    if (!client::contains_all(node.metadata.labels, spec.node_selector)) return false;
    if (!spec.affinity || !spec.affinity->node_affinity) return true;
    const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required) return true;
    return std::ranges::any_of(required->node_selector_terms, [&](const NodeSelectorTerm& term) { return matches(term, node); });
}

}  // namespace

void add_daemon_tolerations(PodSpec& spec) {
    const auto add = [&](Toleration wanted) {
        const bool there = std::ranges::any_of(spec.tolerations, [&](const Toleration& toleration) {
            return toleration.key == wanted.key && toleration.effect == wanted.effect && toleration.operator_ == wanted.operator_;
        });
        if (!there) spec.tolerations.push_back(std::move(wanted));
    };
    add(exists("node.kubernetes.io/not-ready", "NoExecute"));
    add(exists("node.kubernetes.io/unreachable", "NoExecute"));
    add(exists("node.kubernetes.io/disk-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/memory-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/pid-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/unschedulable", "NoSchedule"));
    if (spec.host_network) add(exists("node.kubernetes.io/network-unavailable", "NoSchedule"));
}

void pin_to_node(PodSpec& spec, const std::string& node) {
    NodeSelectorRequirement name;
    name.key = "metadata.name";
    name.operator_ = "In";
    name.values = {node};
    NodeSelectorTerm term;
    term.match_fields = {std::move(name)};
    if (!spec.affinity) spec.affinity.emplace();
    if (!spec.affinity->node_affinity) spec.affinity->node_affinity.emplace();
    spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution.emplace().node_selector_terms = {std::move(term)};
}

std::string node_of(const PodSpec& spec) {
    if (!spec.node_name.empty()) return spec.node_name;
    if (!spec.affinity || !spec.affinity->node_affinity) return "";
    const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required) return "";
    for (const NodeSelectorTerm& term : required->node_selector_terms)
        for (const NodeSelectorRequirement& field : term.match_fields)
            if (field.key == "metadata.name" && field.operator_ == "In" && field.values.size() == 1) return field.values[0];
    return "";
}

Fit fit(const PodSpec& spec, const Node& node) {
    if (!spec.node_name.empty() && spec.node_name != node.metadata.name) return {};
    if (!matches_affinity(spec, node)) return {};
    bool endures_scheduling = true, endures_execution = true;
    for (const Taint& taint : node.spec.taints) {
        const bool tolerated =
            std::ranges::any_of(spec.tolerations, [&](const Toleration& toleration) { return tolerates(toleration, taint); });
        if (tolerated) continue;
        if (taint.effect == "NoSchedule") endures_scheduling = false;
        if (taint.effect == "NoExecute") endures_execution = false;
    }
    return {endures_scheduling && endures_execution, endures_execution};
}

}  // namespace porthole::controllers::daemon
