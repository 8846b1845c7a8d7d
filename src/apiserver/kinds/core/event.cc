#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Event;
using schema::Value;

constexpr std::size_t ReasonLimit = 128;
constexpr std::size_t NoteLimit = 1024;

/// Rules that came with events.k8s.io: they hold for events that carry its time.
void validate_new(const Event& object, FieldErrors& errors) {
    const auto within = [&](const char* path, const std::string& text, std::size_t limit) {
        if (text.size() > limit) errors.invalid(path, text, "can have at most " + std::to_string(limit) + " characters");
    };
    const auto required = [&](const char* path, const std::string& text) {
        if (text.empty()) errors.required(path);
    };
    required("reportingController", object.reporting_component);
    if (!object.reporting_component.empty())
        invalid_all(errors, "reportingController", object.reporting_component, names::check_qualified_name(object.reporting_component));
    required("reportingInstance", object.reporting_instance);
    within("reportingInstance", object.reporting_instance, ReasonLimit);
    required("action", object.action);
    within("action", object.action, ReasonLimit);
    required("reason", object.reason);
    within("reason", object.reason, ReasonLimit);
    within("message", object.message, NoteLimit);
}

void validate(const Event& object, FieldErrors& errors) {
    const std::string& about = object.involved_object.namespace_;
    if (object.event_time.is_zero()) {
        const bool cluster_scoped = about.empty();
        const bool fits = cluster_scoped ? object.metadata.namespace_ == "default" : about == object.metadata.namespace_;
        if (!fits) errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
        return;
    }
    if (about.empty() && object.metadata.namespace_ != "default" && object.metadata.namespace_ != "kube-system")
        errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
    validate_new(object, errors);
}

void move_member(Value& object, const char* from, const char* to) {
    Value* value = object.find(from);
    if (!value) return;
    Value moved = std::move(*value);
    object.erase(from);
    object[to] = std::move(moved);
}

constexpr std::pair<const char*, const char*> Renamed[] = {
    {"note", "message"},
    {"regarding", "involvedObject"},
    {"reportingController", "reportingComponent"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
};

}  // namespace

Strategy event_strategy() {
    Strategy strategy = strategy_for<Event>({.validate = validate});
    strategy.create_on_update = true;
    strategy.time_to_live = std::chrono::hours(1);
    strategy.selectable_fields = {{"involvedObject.kind"},
                                  {"involvedObject.namespace"},
                                  {"involvedObject.name"},
                                  {"involvedObject.uid"},
                                  {"involvedObject.apiVersion"},
                                  {"involvedObject.resourceVersion"},
                                  {"involvedObject.fieldPath"},
                                  {"reason"},
                                  {"reportingComponent"},
                                  {"source", "", "source.component", "reportingComponent"},
                                  {"type"}};
    return strategy;
}

Conversion event_conversion() {
    return {.to_stored =
                [](Value object) {
                    for (const auto& [newer, older] : Renamed) move_member(object, newer, older);
                    return object;
                },
            .from_stored =
                [](Value object) {
                    for (const auto& [newer, older] : Renamed) move_member(object, older, newer);
                    return object;
                },
            .selectable_fields = {{"reason", "reason"},
                                  {"regarding.apiVersion", "involvedObject.apiVersion"},
                                  {"regarding.fieldPath", "involvedObject.fieldPath"},
                                  {"regarding.kind", "involvedObject.kind"},
                                  {"regarding.name", "involvedObject.name"},
                                  {"regarding.namespace", "involvedObject.namespace"},
                                  {"regarding.resourceVersion", "involvedObject.resourceVersion"},
                                  {"regarding.uid", "involvedObject.uid"},
                                  {"reportingController", "reportingComponent"},
                                  {"type", "type"}}};
}

}  // namespace porthole::apiserver
