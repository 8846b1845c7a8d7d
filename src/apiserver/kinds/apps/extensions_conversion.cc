#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// extensions/v1beta1 derived the selector from the labels of the template, which apps/v1 leaves to the user.
Value to_apps(Value object) {
    const Value* labels = object.at_path({"spec", "template", "metadata", "labels"});
    const Value* selector = object.at_path({"spec", "selector"});
    const bool open = !selector || selector->is_null();
    if (open && labels && labels->is_object() && !labels->as_object().empty()) {
        Value derived = Value::object({{"matchLabels", *labels}});
        object.ensure_path({"spec"})["selector"] = std::move(derived);
    }
    return object;
}

}  // namespace

Conversion extensions_conversion() {
    return {.to_stored = to_apps, .from_stored = [](Value object) { return object; }};
}

}  // namespace porthole::apiserver
