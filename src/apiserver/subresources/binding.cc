#include "apiserver/subresources/binding.h"

#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/validation/field_errors.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Binding;
using api::core::v1::Pod;
using api::core::v1::PodCondition;

Error not_bindable(const std::string& pod, const std::string& why) {
    Error error(Reason::Conflict, "Operation cannot be fulfilled on pods/binding \"" + pod + "\": " + why);
    error.details->kind = "pods/binding";
    error.details->name = pod;
    return error;
}

Result<void> validate(const Binding& binding) {
    FieldErrors errors;
    if (!binding.target.kind.empty() && binding.target.kind != "Node")
        errors.not_supported("target.kind", binding.target.kind, {"Node", "<empty>"});
    if (binding.target.name.empty()) errors.required("target.name");
    if (errors.empty()) return {};
    return invalid(Binding::kind(), binding.metadata.name, errors);
}

void set_scheduled(Pod& pod, Timestamp now) {
    PodCondition scheduled{.type = "PodScheduled", .status = "True"};
    if (const PodCondition* known = objects::find_condition(pod.status.conditions, scheduled.type))
        scheduled.observed_generation = known->observed_generation;
    objects::set_condition(pod.status.conditions, std::move(scheduled), now);
}

Result<ApiObject> bound(const ApiObject& current, const Binding& binding, Timestamp now) {
    const Pod& pod = current.view<Pod>();
    const std::string& name = pod.metadata.name;
    if (!binding.metadata.uid.empty() && binding.metadata.uid != pod.metadata.uid)
        return not_bindable(
            name, "Precondition failed: UID in precondition: " + binding.metadata.uid + ", UID in object meta: " + pod.metadata.uid);
    if (pod.metadata.deletion_timestamp) return not_bindable(name, "pod " + name + " is being deleted, cannot be assigned to a host");
    if (!pod.spec.node_name.empty())
        return not_bindable(name, "pod " + name + " is already assigned to node \"" + pod.spec.node_name + "\"");
    if (!pod.spec.scheduling_gates.empty()) return not_bindable(name, "pod " + name + " has non-empty .spec.schedulingGates");
    ApiObject object(current);
    Pod& placed = object.edit<Pod>();
    placed.spec.node_name = binding.target.name;
    for (const auto& [key, value] : binding.metadata.annotations) placed.metadata.annotations[key] = value;
    set_scheduled(placed, now);
    return object;
}

}  // namespace

Task<> handle_binding(ResourceHandler& handler, RequestContext& context) {
    if (context.info.verb != "create") co_return method_not_allowed();
    CO_TRY(const WriteOptions options, parse_write_options(context.info, "CreateOptions", false));
    CO_TRY(ApiObject body, decode_body(context, handler.registry(), Binding::kind(), options.field_validation));
    CO_TRY_VOID(ensure_names_match_request(context.info, Binding::kind(), body));
    const Binding binding = body.view<Binding>();
    CO_TRY_VOID(validate(binding));
    WriteRequest request = handler.write_request(context, handler.resources().of<Pod>(), options);
    request.name = binding.metadata.name;
    request.subresource = "binding";
    const Timestamp now = handler.now();
    CO_TRY_VOID(
        co_await handler.objects().mutate(std::move(request), [&](const ApiObject& current) { return bound(current, binding, now); }));
    co_return co_await reply_tree(
        context, 201,
        schema::Value::object(
            {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", schema::Value::object()}, {"status", "Success"}, {"code", 201}}));
}

}  // namespace porthole::apiserver
