#include <algorithm>

#include "api/autoscaling_v2.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Array;
using schema::Value;

constexpr const char* OtherMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr const char* Behavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr const char* ConditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions";

bool is_cpu_utilization(const Value& metric) {
    return metric.string_at({"type"}) == "Resource" && metric.string_at({"resource", "name"}) == "cpu" &&
           metric.string_at({"resource", "target", "type"}) == "Utilization";
}

/// What autoscaling/v1 has no field for travels as JSON in annotations.
void to_annotation(Value& object, const char* key, const Value& value) {
    object.ensure_path({"metadata", "annotations"})[key] = schema::to_json(value);
}

Value from_annotation(Value& object, const char* key) {
    Value* annotations = object.at_path({"metadata", "annotations"});
    const Value* text = annotations ? annotations->find(key) : nullptr;
    if (!text) return Value();
    auto parsed = schema::parse_json(text->string_or(""));
    annotations->erase(key);
    return parsed ? std::move(*parsed) : Value();
}

/// A list that is not one of Ts counts as absent, as upstream ignores what it cannot read.
template <class T>
Value list_from_annotation(Value& object, const char* key) {
    Value list = from_annotation(object, key);
    const auto is_one = [](const Value& item) { return item.is_object() && schema::from_value<T>(item); };
    return list.is_array() && std::ranges::all_of(list.as_array(), is_one) ? std::move(list) : Value();
}

Value to_v2(Value object) {
    using namespace api::autoscaling::v2;
    Value metrics = list_from_annotation<MetricSpec>(object, OtherMetrics);
    if (!metrics.is_array()) metrics = Value::array();
    Value behavior = from_annotation(object, Behavior);
    if (!schema::from_value<HorizontalPodAutoscalerBehavior>(behavior)) behavior = Value();
    Value conditions = list_from_annotation<HorizontalPodAutoscalerCondition>(object, ConditionsAnnotation);
    if (Value* spec = object.find("spec")) {
        if (const Value* target = spec->find("targetCPUUtilizationPercentage")) {
            Value cpu =
                Value::object({{"name", "cpu"}, {"target", Value::object({{"type", "Utilization"}, {"averageUtilization", *target}})}});
            metrics.as_array().insert(metrics.as_array().begin(), Value::object({{"type", "Resource"}, {"resource", std::move(cpu)}}));
            spec->erase("targetCPUUtilizationPercentage");
        }
        if (!metrics.as_array().empty()) (*spec)["metrics"] = std::move(metrics);
        if (behavior.is_object()) (*spec)["behavior"] = std::move(behavior);
    }
    if (Value* status = object.find("status")) {
        status->erase("currentCPUUtilizationPercentage");
        if (conditions.is_array()) (*status)["conditions"] = std::move(conditions);
    }
    return object;
}

Value to_v1(Value object) {
    if (Value* spec = object.find("spec")) {
        Value others = Value::array();
        if (const Value* metrics = spec->find("metrics"); metrics && metrics->is_array()) {
            Value target;
            for (const Value& metric : metrics->as_array()) {
                const Value* utilization = metric.at_path({"resource", "target", "averageUtilization"});
                if (target.is_null() && is_cpu_utilization(metric) && utilization)
                    target = *utilization;
                else
                    others.as_array().push_back(metric);
            }
            spec->erase("metrics");
            if (!target.is_null()) (*spec)["targetCPUUtilizationPercentage"] = std::move(target);
        }
        if (!others.as_array().empty()) to_annotation(object, OtherMetrics, others);
        if (const Value* behavior = object.at_path({"spec", "behavior"})) {
            to_annotation(object, Behavior, *behavior);
            object["spec"].erase("behavior");
        }
    }
    if (Value* status = object.find("status")) {
        if (const Value* metrics = status->find("currentMetrics"); metrics && metrics->is_array()) {
            for (const Value& metric : metrics->as_array()) {
                const Value* current = metric.at_path({"resource", "current", "averageUtilization"});
                if (metric.string_at({"resource", "name"}) == "cpu" && current) (*status)["currentCPUUtilizationPercentage"] = *current;
            }
        }
        object["status"].erase("currentMetrics");
        if (const Value* conditions = object.at_path({"status", "conditions"})) {
            to_annotation(object, ConditionsAnnotation, *conditions);
            object["status"].erase("conditions");
        }
    }
    return object;
}

}  // namespace

Conversion autoscaler_conversion() { return {.to_stored = to_v2, .from_stored = to_v1}; }

}  // namespace porthole::apiserver
