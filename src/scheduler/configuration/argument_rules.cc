#include "scheduler/configuration/argument_rules.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "api/kubescheduler_v1.h"
#include "schema/convert.h"

namespace porthole::scheduler {

namespace {

using namespace api::kubescheduler::v1;
using schema::FieldErrors;
using schema::FieldPath;
using schema::Value;

void check_in_range(std::int64_t value, std::int64_t low, std::int64_t high, const FieldPath& path, FieldErrors& errors) {
    if (value < low || value > high)
        errors.invalid(path, value, "not in valid range [" + std::to_string(low) + ", " + std::to_string(high) + "]");
}

void check_preemption(const DefaultPreemptionArgs& given, const FieldPath& path, FieldErrors& errors) {
    const FieldPath percentage = path.child("minCandidateNodesPercentage"), absolute = path.child("minCandidateNodesAbsolute");
    const std::int32_t percent = given.min_candidate_nodes_percentage.value_or(0), least = given.min_candidate_nodes_absolute.value_or(0);
    check_in_range(percent, 0, 100, percentage, errors);
    if (least < 0) errors.invalid(absolute, least, "not in valid range [0, inf)");
    if (percent != 0 || least != 0) return;
    errors.invalid(percentage, percent, "cannot be zero at the same time as minCandidateNodesAbsolute");
    errors.invalid(absolute, least, "cannot be zero at the same time as minCandidateNodesPercentage");
}

void check_devices(const DynamicResourcesArgs& given, const FieldPath& path, FieldErrors& errors) {
    using namespace std::chrono_literals;
    if (given.filter_timeout) {
        if (*given.filter_timeout < 0s)
            errors.invalid(path.child("filterTimeout"), given.filter_timeout->count(), "must be zero or positive");
        errors.warn(std::string(path.child("filterTimeout").text()) +
                    " has no effect: the search for devices ends after a number of steps, for all nodes together");
    }
    if (given.binding_timeout && *given.binding_timeout < 1s)
        errors.invalid(path.child("bindingTimeout"), given.binding_timeout->count(), "must be at least 1 second");
}

void check_pod_affinity(const InterPodAffinityArgs& given, const FieldPath& path, FieldErrors& errors) {
    check_in_range(given.hard_pod_affinity_weight.value_or(1), 0, 100, path.child("hardPodAffinityWeight"), errors);
}

void check_node_term(const api::core::v1::NodeSelectorTerm& term, const FieldPath& path, FieldErrors& errors) {
    constexpr std::string_view Operators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    const auto check = [&](const auto& requirements, const FieldPath& at) {
        for (std::size_t i = 0; i < requirements.size(); ++i) {
            const auto& one = requirements[i];
            if (one.key.empty()) errors.required(at.index(i).child("key"));
            if (std::ranges::find(Operators, one.operator_) == std::end(Operators))
                errors.not_supported(at.index(i).child("operator"), one.operator_, Operators);
            else if ((one.operator_ == "In" || one.operator_ == "NotIn") && one.values.empty())
                errors.required(at.index(i).child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
    };
    check(term.match_expressions, path.child("matchExpressions"));
    check(term.match_fields, path.child("matchFields"));
}

void check_node_affinity(const NodeAffinityArgs& given, const FieldPath& path, FieldErrors& errors) {
    if (!given.added_affinity) return;
    const FieldPath affinity = path.child("addedAffinity");
    if (const auto& required = given.added_affinity->required_during_scheduling_ignored_during_execution) {
        const FieldPath terms = affinity.child("requiredDuringSchedulingIgnoredDuringExecution").child("nodeSelectorTerms");
        if (required->node_selector_terms.empty()) errors.required(terms, "must have at least one node selector term");
        for (std::size_t i = 0; i < required->node_selector_terms.size(); ++i)
            check_node_term(required->node_selector_terms[i], terms.index(i), errors);
    }
    const auto& preferred = given.added_affinity->preferred_during_scheduling_ignored_during_execution;
    const FieldPath list = affinity.child("preferredDuringSchedulingIgnoredDuringExecution");
    for (std::size_t i = 0; i < preferred.size(); ++i) {
        check_in_range(preferred[i].weight, 1, 100, list.index(i).child("weight"), errors);
        check_node_term(preferred[i].preference, list.index(i).child("preference"), errors);
    }
}

void check_balance(const NodeResourcesBalancedAllocationArgs& given, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < given.resources.size(); ++i) {
        const ResourceSpec& resource = given.resources[i];
        const FieldPath at = path.child("resources").index(i);
        if (!seen.insert(resource.name).second) errors.duplicate(at.child("name"), resource.name);
        if (resource.weight != 0 && resource.weight != 1) errors.invalid(at.child("weight"), resource.weight, "must be 1");
    }
}

void check_shape(const std::vector<UtilizationShapePoint>& shape, const FieldPath& path, FieldErrors& errors) {
    if (shape.empty()) return errors.required(path, "at least one point must be specified");
    for (std::size_t i = 1; i < shape.size(); ++i) {
        if (shape[i - 1].utilization < shape[i].utilization) continue;
        errors.invalid(path.index(i).child("utilization"), shape[i].utilization, "values must be sorted in increasing order");
        break;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        check_in_range(shape[i].utilization, 0, 100, path.index(i).child("utilization"), errors);
        check_in_range(shape[i].score, 0, 10, path.index(i).child("score"), errors);
    }
}

void check_fit(const NodeResourcesFitArgs& given, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < given.ignored_resource_groups.size(); ++i) {
        const std::string& group = given.ignored_resource_groups[i];
        if (group.contains('/'))
            errors.invalid(path.child("ignoredResourceGroups").index(i), group, "resource group name can't contain '/'");
    }
    if (!given.scoring_strategy) return;
    const ScoringStrategy& strategy = *given.scoring_strategy;
    const FieldPath at = path.child("scoringStrategy"), ratio = at.child("requestedToCapacityRatio");
    if (strategy.type != "LeastAllocated" && strategy.type != "MostAllocated" && strategy.type != "RequestedToCapacityRatio")
        errors.not_supported(at.child("type"), strategy.type, {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"});
    for (std::size_t i = 0; i < strategy.resources.size(); ++i) {
        const auto& [name, weight] = strategy.resources[i];
        if (weight < 0 || weight > 100)
            errors.invalid(at.child("resources").index(i).child("weight"), weight,
                           "resource weight of " + name + " not in valid range (0, 100]");
    }
    if (strategy.type == "RequestedToCapacityRatio") {
        if (!strategy.requested_to_capacity_ratio)
            errors.required(ratio, "must be specified when type is RequestedToCapacityRatio");
        else
            check_shape(strategy.requested_to_capacity_ratio->shape, ratio.child("shape"), errors);
    } else if (strategy.requested_to_capacity_ratio) {
        errors.forbidden(ratio, "must be nil when type is not RequestedToCapacityRatio");
    }
}

void check_spread(const PodTopologySpreadArgs& given, const FieldPath& path, FieldErrors& errors) {
    const FieldPath type = path.child("defaultingType");
    if (given.defaulting_type != "System" && given.defaulting_type != "List")
        errors.not_supported(type, given.defaulting_type, {"List", "System"});
    else if (given.defaulting_type == "System" && !given.default_constraints.empty())
        errors.invalid(type, given.defaulting_type, "when .defaultConstraints are not empty");
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < given.default_constraints.size(); ++i) {
        const auto& constraint = given.default_constraints[i];
        const FieldPath at = path.child("defaultConstraints").index(i);
        if (constraint.max_skew <= 0) errors.invalid(at.child("maxSkew"), constraint.max_skew, "not in valid range (0, inf)");
        if (constraint.topology_key.empty()) errors.required(at.child("topologyKey"), "can not be empty");
        const std::string& action = constraint.when_unsatisfiable;
        if (action.empty())
            errors.required(at.child("whenUnsatisfiable"), "can not be empty");
        else if (action != "DoNotSchedule" && action != "ScheduleAnyway")
            errors.not_supported(at.child("whenUnsatisfiable"), action, {"DoNotSchedule", "ScheduleAnyway"});
        if (constraint.label_selector)
            errors.forbidden(at.child("labelSelector"), "constraint must not define a selector, as they deduced for each pod");
        if (!seen.emplace(constraint.topology_key, action).second)
            errors.duplicate(at, "{" + constraint.topology_key + ", " + action + "}");
    }
}

void check_volumes(const VolumeBindingArgs& given, const FieldPath& path, FieldErrors& errors) {
    if (const std::int64_t seconds = given.bind_timeout_seconds.value_or(600); seconds < 0)
        errors.invalid(path.child("bindTimeoutSeconds"), seconds, "invalid BindTimeoutSeconds, should not be a negative value");
    else if (seconds > 1'000'000'000)
        errors.invalid(path.child("bindTimeoutSeconds"), seconds, "more than 1000000000 seconds");
    if (!given.shape.empty())
        errors.forbidden(path.child("shape"), "unexpected field `shape`, remove it: the feature StorageCapacityScoring is off");
}

template <class Arguments, void (*Check)(const Arguments&, const FieldPath&, FieldErrors&)>
constexpr ArgumentRules rules(const char* plugin) {
    return {plugin, &Arguments::schema_type, [](const Value& value, const FieldPath& path, FieldErrors& errors) {
                Check(schema::from_value<Arguments>(value).value(), path, errors);
            }};
}

/// A new plugin with arguments has a line here.
constexpr ArgumentRules All[] = {
    rules<DefaultPreemptionArgs, check_preemption>("DefaultPreemption"),
    rules<DynamicResourcesArgs, check_devices>("DynamicResources"),
    rules<InterPodAffinityArgs, check_pod_affinity>("InterPodAffinity"),
    rules<NodeAffinityArgs, check_node_affinity>("NodeAffinity"),
    rules<NodeResourcesBalancedAllocationArgs, check_balance>("NodeResourcesBalancedAllocation"),
    rules<NodeResourcesFitArgs, check_fit>("NodeResourcesFit"),
    rules<PodTopologySpreadArgs, check_spread>("PodTopologySpread"),
    rules<VolumeBindingArgs, check_volumes>("VolumeBinding"),
};

}  // namespace

const ArgumentRules* find_argument_rules(const std::string& plugin) {
    const auto found = std::ranges::find_if(All, [&](const ArgumentRules& rules) { return rules.plugin == plugin; });
    return found == std::end(All) ? nullptr : found;
}

std::string plugins_with_arguments() {
    std::string names;
    for (const ArgumentRules& rules : All) names.append(names.empty() ? "" : ", ").append(rules.plugin);
    return names;
}

}  // namespace porthole::scheduler
