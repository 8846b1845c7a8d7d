#include <cstdint>

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

void set_default(Value& object, const char* key, Value value) {
    if (const Value* found = object.find(key); !found || found->is_null()) object[key] = std::move(value);
}

/// extensions/v1beta1 derived the selector from the labels of the template, which apps/v1 leaves to the user.
void derive_selector(Value& spec) {
    const Value* labels = spec.at_path({"template", "metadata", "labels"});
    if (labels && labels->is_object() && !labels->as_object().empty())
        set_default(spec, "selector", Value::object({{"matchLabels", *labels}}));
}

/// What is left out has the meaning that it had in extensions/v1beta1: those defaults differ from the ones of apps/v1.
Value to_apps(Value object) {
    Value& spec = object.ensure_path({"spec"});
    derive_selector(spec);
    const std::string_view kind = object.string_at({"kind"});
    if (kind == "DaemonSet") set_default(spec.ensure_path({"updateStrategy"}), "type", "OnDelete");
    if (kind != "Deployment") return object;
    set_default(spec, "progressDeadlineSeconds", INT32_MAX);  // none
    set_default(spec, "revisionHistoryLimit", INT32_MAX);     // all are kept
    Value& strategy = spec.ensure_path({"strategy"});
    if (at(strategy, "type").string_or("RollingUpdate") != "RollingUpdate") return object;
    Value& rolling = strategy.ensure_path({"rollingUpdate"});
    for (const char* amount : {"maxUnavailable", "maxSurge"}) set_default(rolling, amount, 1);
    return object;
}

}  // namespace

Conversion extensions_conversion() {
    return {.to_stored = to_apps, .from_stored = [](Value object) { return object; }};
}

}  // namespace porthole::apiserver
