#include <algorithm>
#include <set>

#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

void validate_expressions(const std::vector<NodeSelectorRequirement>& expressions, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
        const NodeSelectorRequirement& expression = expressions[i];
        const FieldPath at = path.index(i);
        const std::string& operation = expression.operator_;
        if (operation == "In" || operation == "NotIn") {
            if (expression.values.empty()) errors.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'");
        } else if (operation == "Exists" || operation == "DoesNotExist") {
            if (!expression.values.empty())
                errors.forbidden(at / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else if (operation == "Gt" || operation == "Lt") {
            if (expression.values.size() != 1)
                errors.required(at / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
        } else {
            errors.invalid(at / "operator", operation, "not a valid selector operator");
        }
        invalid_all(errors, at / "key", expression.key, names::check_qualified_name(expression.key));
    }
}

void validate_term(const NodeSelectorTerm& term, const FieldPath& path, FieldErrors& errors) {
    validate_expressions(term.match_expressions, path / "matchExpressions", errors);
    for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
        const NodeSelectorRequirement& field = term.match_fields[i];
        const FieldPath at = (path / "matchFields").index(i);
        if (field.operator_ != "In" && field.operator_ != "NotIn")
            errors.invalid(at / "operator", field.operator_, "not a valid selector operator");
        else if (field.values.size() != 1)
            errors.required(at / "values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
        if (field.key != "metadata.name") errors.invalid(at / "key", field.key, "not a valid field selector key");
    }
}

void check_weight(std::int32_t weight, const FieldPath& path, FieldErrors& errors) {
    if (weight < 1 || weight > 100) errors.invalid(path, weight, "must be in the range 1-100");
}

/// matchLabelKeys and mismatchLabelKeys of a term with `selector`.
void validate_match_keys(const std::vector<std::string>& keys, const std::vector<std::string>* mismatching, bool has_selector,
                         const FieldPath& path, FieldErrors& errors) {
    const auto check = [&](const std::vector<std::string>& list, const char* member) {
        if (!list.empty() && !has_selector) errors.forbidden(path / member, "must not be specified when labelSelector is not set");
        for (std::size_t i = 0; i < list.size(); ++i)
            invalid_all(errors, (path / member).index(i), list[i], names::check_qualified_name(list[i]));
    };
    check(keys, "matchLabelKeys");
    if (!mismatching) return;
    check(*mismatching, "mismatchLabelKeys");
    const std::set<std::string_view> others(mismatching->begin(), mismatching->end());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (others.contains(keys[i]))
            errors.invalid((path / "matchLabelKeys").index(i), keys[i], "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

void validate_pod_term(const PodAffinityTerm& term, const FieldPath& path, FieldErrors& errors) {
    if (term.label_selector) validate_label_selector(*term.label_selector, path / "labelSelector", errors);
    if (term.namespace_selector) validate_label_selector(*term.namespace_selector, path / "namespaceSelector", errors);
    for (const std::string& name : term.namespaces) invalid_all(errors, path / "namespace", name, names::check_dns1123_label(name));
    validate_match_keys(term.match_label_keys, &term.mismatch_label_keys, term.label_selector.has_value(), path, errors);
    if (term.topology_key.empty())
        errors.required(path / "topologyKey", "can not be empty");
    else
        invalid_all(errors, path / "topologyKey", term.topology_key, names::check_qualified_name(term.topology_key));
}

template <class AnyAffinity>
void validate_pod_affinity(const AnyAffinity& affinity, const FieldPath& path, FieldErrors& errors) {
    const auto& required = affinity.required_during_scheduling_ignored_during_execution;
    for (std::size_t i = 0; i < required.size(); ++i)
        validate_pod_term(required[i], (path / "requiredDuringSchedulingIgnoredDuringExecution").index(i), errors);
    const auto& preferred = affinity.preferred_during_scheduling_ignored_during_execution;
    for (std::size_t i = 0; i < preferred.size(); ++i) {
        const FieldPath at = (path / "preferredDuringSchedulingIgnoredDuringExecution").index(i);
        check_weight(preferred[i].weight, at / "weight", errors);
        validate_pod_term(preferred[i].pod_affinity_term, at / "podAffinityTerm", errors);
    }
}

void validate_affinity(const Affinity& affinity, const FieldPath& path, FieldErrors& errors) {
    if (affinity.node_affinity) {
        const FieldPath node = path / "nodeAffinity";
        if (const auto& required = affinity.node_affinity->required_during_scheduling_ignored_during_execution)
            validate_node_selector(*required, node / "requiredDuringSchedulingIgnoredDuringExecution", errors);
        const auto& preferred = affinity.node_affinity->preferred_during_scheduling_ignored_during_execution;
        for (std::size_t i = 0; i < preferred.size(); ++i) {
            const FieldPath at = (node / "preferredDuringSchedulingIgnoredDuringExecution").index(i);
            check_weight(preferred[i].weight, at / "weight", errors);
            validate_term(preferred[i].preference, at / "preference", errors);
        }
    }
    if (affinity.pod_affinity) validate_pod_affinity(*affinity.pod_affinity, path / "podAffinity", errors);
    if (affinity.pod_anti_affinity) validate_pod_affinity(*affinity.pod_anti_affinity, path / "podAntiAffinity", errors);
}

void validate_spread(const std::vector<TopologySpreadConstraint>& constraints, const FieldPath& path, FieldErrors& errors) {
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
        const TopologySpreadConstraint& one = constraints[i];
        const FieldPath at = path.index(i);
        if (one.max_skew <= 0) errors.invalid(at / "maxSkew", one.max_skew, "must be greater than zero");
        if (one.topology_key.empty()) errors.required(at / "topologyKey", "can not be empty");
        if (!is_one_of(one.when_unsatisfiable, {"DoNotSchedule", "ScheduleAnyway"}))
            errors.not_supported(at / "whenUnsatisfiable", one.when_unsatisfiable, {"DoNotSchedule", "ScheduleAnyway"});
        if (!seen.emplace(one.topology_key, one.when_unsatisfiable).second)
            errors.duplicate(at / "{topologyKey, whenUnsatisfiable}", "{" + one.topology_key + ", " + one.when_unsatisfiable + "}");
        if (one.min_domains) {
            if (*one.min_domains <= 0) errors.invalid(at / "minDomains", *one.min_domains, "must be greater than zero");
            if (one.when_unsatisfiable != "DoNotSchedule") {
                errors.invalid(at / "minDomains", *one.min_domains,
                               "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + one.when_unsatisfiable);
            }
        }
        const auto check_policy = [&](const std::optional<std::string>& policy, const char* member) {
            if (policy && !is_one_of(*policy, {"Honor", "Ignore"})) errors.not_supported(at / member, *policy, {"Honor", "Ignore"});
        };
        check_policy(one.node_affinity_policy, "nodeAffinityPolicy");
        check_policy(one.node_taints_policy, "nodeTaintsPolicy");
        if (one.label_selector) validate_label_selector(*one.label_selector, at / "labelSelector", errors);
        validate_match_keys(one.match_label_keys, nullptr, one.label_selector.has_value(), at, errors);
    }
}

}  // namespace

void validate_node_selector(const NodeSelector& selector, const FieldPath& path, FieldErrors& errors) {
    const FieldPath terms = path / "nodeSelectorTerms";
    if (selector.node_selector_terms.empty()) errors.required(terms, "must have at least one node selector term");
    for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i)
        validate_term(selector.node_selector_terms[i], terms.index(i), errors);
}

void validate_tolerations(const std::vector<Toleration>& tolerations, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < tolerations.size(); ++i) {
        const Toleration& one = tolerations[i];
        const FieldPath at = path.index(i);
        if (!one.key.empty()) invalid_all(errors, at / "key", one.key, names::check_qualified_name(one.key));
        if (one.key.empty() && one.operator_ != "Exists") {
            errors.invalid(at / "operator", one.operator_,
                           "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
        }
        if (one.toleration_seconds && one.effect != "NoExecute")
            errors.invalid(at / "effect", one.effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        if (one.operator_.empty() || one.operator_ == "Equal") {
            invalid_all(errors, at / "operator", one.value, names::check_label_value(one.value));
        } else if (one.operator_ == "Exists") {
            if (!one.value.empty()) errors.invalid(at / "operator", one.value, "value must be empty when `operator` is 'Exists'");
        } else {
            errors.not_supported(at / "operator", one.operator_, {"Equal", "Exists"});
        }
        if (!one.effect.empty() && !is_one_of(one.effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}))
            errors.not_supported(at / "effect", one.effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
}

void validate_placement(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (spec.affinity) validate_affinity(*spec.affinity, path / "affinity", errors);
    validate_tolerations(spec.tolerations, path / "tolerations", errors);
    validate_spread(spec.topology_spread_constraints, path / "topologySpreadConstraints", errors);
}

}  // namespace porthole::apiserver
