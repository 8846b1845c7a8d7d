#include "api/autoscaling_v2.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::autoscaling::v2;

constexpr std::int32_t LongestWindow = 3600, LongestPeriod = 1800;
constexpr std::int32_t DefaultUtilization = 80;

// --- Defaults ---

void default_rules(schema::Box<HPAScalingRules>& rules, const HPAScalingRules& usual) {
    if (!rules) rules.emplace();
    if (!rules->select_policy) rules->select_policy = usual.select_policy;
    if (!rules->stabilization_window_seconds) rules->stabilization_window_seconds = usual.stabilization_window_seconds;
    if (rules->policies.empty()) rules->policies = usual.policies;
}

void set_defaults(HorizontalPodAutoscaler& object) {
    HorizontalPodAutoscalerSpec& spec = object.spec;
    if (!spec.min_replicas) spec.min_replicas = 1;
    if (spec.metrics.empty()) {
        MetricSpec& cpu = spec.metrics.emplace_back();
        cpu.type = MetricSourceType::Resource;
        cpu.resource = ResourceMetricSource{.name = "cpu",
                                            .target = {.type = MetricTargetType::Utilization, .average_utilization = DefaultUtilization}};
    }
    if (!spec.behavior) return;
    const HPAScalingPolicy everything{.type = "Percent", .value = 100, .period_seconds = 15},
        four{.type = "Pods", .value = 4, .period_seconds = 15};
    default_rules(spec.behavior->scale_up, {.stabilization_window_seconds = 0, .select_policy = "Max", .policies = {four, everything}});
    default_rules(spec.behavior->scale_down, {.select_policy = "Max", .policies = {everything}});
}

// --- Metrics ---

void validate_reference(const CrossVersionObjectReference& reference, const FieldPath& path, FieldErrors& errors) {
    check_required_format(reference.kind, names::check_path_segment, path / "kind", errors);
    check_required_format(reference.name, names::check_path_segment, path / "name", errors);
}

void validate_identifier(const MetricIdentifier& metric, const FieldPath& path, FieldErrors& errors) {
    check_required_format(metric.name, names::check_path_segment, path / "name", errors);
    if (metric.selector) validate_label_selector(*metric.selector, path / "selector", errors);
}

void validate_target(const MetricTarget& target, const FieldPath& path, FieldErrors& errors) {
    if (check_required(target.type, path / "type", errors)) {
        const bool known = target.type == MetricTargetType::Utilization || target.type == MetricTargetType::Value ||
                           target.type == MetricTargetType::AverageValue;
        check(known, target.type, "must be either Utilization, Value, or AverageValue", path / "type", errors);
    }
    const auto positive = [&](const std::optional<Quantity>& amount, const char* field) {
        if (amount) check(amount->sign() == 1, amount->to_string(), "must be positive", path / field, errors);
    };
    positive(target.value, "value");
    positive(target.average_value, "averageValue");
    if (target.average_utilization)
        check(*target.average_utilization >= 1, *target.average_utilization, "must be greater than 0", path / "averageUtilization", errors);
}

/// What pods use is asked for in per cent of what they request, or as an amount.
void validate_usage_target(const MetricTarget& target, const FieldPath& path, FieldErrors& errors) {
    validate_target(target, path, errors);
    if (!target.average_utilization && !target.average_value)
        errors.required(path / "averageUtilization", "must set either a target raw value or a target utilization");
    if (target.average_utilization && target.average_value)
        errors.forbidden(path / "averageValue", "may not set both a target raw value and a target utilization");
}

void validate_external_target(const MetricTarget& target, const FieldPath& path, FieldErrors& errors) {
    validate_target(target, path, errors);
    if (!target.value && !target.average_value)
        errors.required(path / "averageValue", "must set either a target value for metric or a per-pod target");
    if (target.value && target.average_value)
        errors.forbidden(path / "value", "may not set both a target value for metric and a per-pod target");
}

struct Source {
    const char* type;
    const char* field;
    bool set;
};

void validate_metric(const MetricSpec& metric, const FieldPath& path, FieldErrors& errors) {
    if (!check_required(metric.type, path / "type", errors)) return;
    const Source sources[] = {{"ContainerResource", "containerResource", metric.container_resource.has_value()},
                              {"External", "external", metric.external.has_value()},
                              {"Object", "object", metric.object.has_value()},
                              {"Pods", "pods", metric.pods.has_value()},
                              {"Resource", "resource", metric.resource.has_value()}};
    bool known = false;
    for (const Source& source : sources) {
        const bool wanted = metric.type == source.type;
        known = known || wanted;
        if (wanted && !source.set) errors.required(path / source.field, "must populate information for the given metric source");
        if (!wanted && source.set) errors.forbidden(path / source.field, "must populate the given metric source only");
    }
    if (!known) errors.not_supported(path / "type", metric.type, {"ContainerResource", "External", "Object", "Pods", "Resource"});

    if (metric.object) {
        validate_reference(metric.object->described_object, path / "object" / "describedObject", errors);
        validate_identifier(metric.object->metric, path / "object" / "metric", errors);
        validate_external_target(metric.object->target, path / "object" / "target", errors);
    }
    if (metric.external) {
        validate_identifier(metric.external->metric, path / "external" / "metric", errors);
        validate_external_target(metric.external->target, path / "external" / "target", errors);
    }
    if (metric.pods) {
        validate_identifier(metric.pods->metric, path / "pods" / "metric", errors);
        validate_target(metric.pods->target, path / "pods" / "target", errors);
        if (!metric.pods->target.average_value)
            errors.required(path / "pods" / "target" / "averageValue", "must specify a positive target averageValue");
    }
    if (metric.resource) {
        check_required(metric.resource->name, path / "resource" / "name", errors);
        validate_usage_target(metric.resource->target, path / "resource" / "target", errors);
    }
    if (metric.container_resource) {
        const FieldPath at = path / "containerResource";
        check_required(metric.container_resource->name, at / "name", errors);
        check_required_format(metric.container_resource->container, names::check_dns1123_label, at / "container", errors);
        validate_usage_target(metric.container_resource->target, at / "target", errors);
    }
}

// --- Behavior ---

void validate_scaling(const schema::Box<HPAScalingRules>& rules, const FieldPath& path, FieldErrors& errors) {
    if (!rules) return;
    if (const auto& window = rules->stabilization_window_seconds) {
        check_not_negative(*window, path / "stabilizationWindowSeconds", errors);
        check(*window <= LongestWindow, *window, "must be less than or equal to 3600", path / "stabilizationWindowSeconds", errors);
    }
    check_choice(rules->select_policy, {"Disabled", "Max", "Min"}, path / "selectPolicy", errors);
    if (rules->tolerance) check(!rules->tolerance->is_negative(), rules->tolerance->to_string(), NotNegative, path / "tolerance", errors);
    if (rules->policies.empty()) errors.required(path / "policies", "must specify at least one Policy");
    for (std::size_t i = 0; i < rules->policies.size(); ++i) {
        const HPAScalingPolicy& policy = rules->policies[i];
        const FieldPath at = (path / "policies").index(i);
        check_choice(policy.type, {"Percent", "Pods"}, at / "type", errors);
        check(policy.value > 0, policy.value, "must be greater than zero", at / "value", errors);
        check(policy.period_seconds > 0, policy.period_seconds, "must be greater than zero", at / "periodSeconds", errors);
        check(policy.period_seconds <= LongestPeriod, policy.period_seconds, "must be less than or equal to 1800", at / "periodSeconds",
              errors);
    }
}

void validate(const HorizontalPodAutoscaler& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const HorizontalPodAutoscalerSpec& spec = object.spec;
    if (spec.min_replicas)
        check(*spec.min_replicas >= 1, *spec.min_replicas, "must be greater than or equal to 1", path / "minReplicas", errors);
    check(spec.max_replicas >= 1, spec.max_replicas, "must be greater than 0", path / "maxReplicas", errors);
    if (spec.min_replicas && spec.max_replicas < *spec.min_replicas)
        errors.invalid(path / "maxReplicas", spec.max_replicas, "must be greater than or equal to `minReplicas`");
    validate_reference(spec.scale_target_ref, path / "scaleTargetRef", errors);
    for (std::size_t i = 0; i < spec.metrics.size(); ++i) validate_metric(spec.metrics[i], (path / "metrics").index(i), errors);
    if (!spec.behavior) return;
    validate_scaling(spec.behavior->scale_up, path / "behavior" / "scaleUp", errors);
    validate_scaling(spec.behavior->scale_down, path / "behavior" / "scaleDown", errors);
}

void validate_status_update(const HorizontalPodAutoscaler& object, const HorizontalPodAutoscaler&, FieldErrors& errors) {
    check_not_negative(object.status.current_replicas, "status.currentReplicas", errors);
    check_not_negative(object.status.desired_replicas, "status.desiredReplicas", errors);
}

}  // namespace

Strategy autoscaler_strategy() {
    return strategy_for<HorizontalPodAutoscaler>(
        {.set_defaults = set_defaults, .validate = validate, .validate_status_update = validate_status_update});
}

}  // namespace porthole::apiserver
