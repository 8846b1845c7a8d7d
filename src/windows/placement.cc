#include "windows/placement.h"

#include <algorithm>

namespace porthole::windows {
namespace {

constexpr std::string_view Keys[] = {"kubernetes.io/os", "beta.kubernetes.io/os"};

bool is_system_key(std::string_view key) { return std::ranges::find(Keys, key) != std::end(Keys); }

std::string_view system_in_selector(const core::PodSpec& spec) {
    for (const std::string_view key : Keys)
        if (const auto found = spec.node_selector.find(std::string(key)); found != spec.node_selector.end()) return found->second;
    return "";
}

std::string_view system_of(const core::NodeSelectorTerm& term) {
    for (const core::NodeSelectorRequirement& one : term.match_expressions)
        if (is_system_key(one.key) && one.operator_ == "In" && one.values.size() == 1) return one.values.front();
    return "";
}

/// What every term of the required affinity asks for; "" when they differ or one asks for none.
std::string_view required_system(const core::PodSpec& spec) {
    if (!spec.affinity || !spec.affinity->node_affinity) return "";
    const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required || required->node_selector_terms.empty()) return "";
    const std::string_view first = system_of(required->node_selector_terms.front());
    const bool same = std::ranges::all_of(required->node_selector_terms, [&](const auto& term) { return system_of(term) == first; });
    return same ? first : "";
}

}  // namespace

std::string_view system_asked_for(const core::PodSpec& spec) {
    if (spec.os && !spec.os->name.empty()) return spec.os->name;
    return selected_system(spec);
}

std::string_view selected_system(const core::PodSpec& spec) {
    if (const std::string_view selected = system_in_selector(spec); !selected.empty()) return selected;
    return required_system(spec);
}

bool selects_its_system(const core::PodSpec& spec) {
    return spec.os && (system_in_selector(spec) == spec.os->name || required_system(spec) == spec.os->name);
}

}  // namespace porthole::windows
