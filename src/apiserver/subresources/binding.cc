#include "apiserver/subresources/binding.h"

#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/validation/field_errors.h"
#include "objects/conditions.h"
#include "schema/convert.h"
#include "schema/value.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Binding;
using api::core::v1::Pod;
using api::core::v1::PodCondition;
using schema::Value;

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

/// What was nominated for the pod says nothing any more.
Result<void> set_scheduled(Value& status, std::int64_t generation, Timestamp now) {
    status.erase("nominatedNodeName");
    std::vector<PodCondition> conditions;
    if (const Value* known = status.find("conditions"); known && known->is_array())
        for (const Value& one : known->as_array())
            TRY_VOID(schema::from_value(PodCondition::schema_type(), &conditions.emplace_back(), one));
    PodCondition scheduled{.type = "PodScheduled", .status = "True"};
    scheduled.observed_generation = generation;
    objects::set_condition(conditions, std::move(scheduled), now);
    schema::Array list;
    for (const PodCondition& one : conditions) list.push_back(schema::to_value(one));
    status["conditions"] = std::move(list);
    return {};
}

/// Works on the tree: it changes little, and the way of a whole pod into a struct and back costs more than the change.
Result<ApiObject> bound(const ApiObject& current, const Binding& binding, Timestamp now) {
    const ObjectMeta& metadata = current.metadata();
    const std::string& name = metadata.name;
    const Value& spec = schema::at(current.bare_tree(), "spec");
    const Value& gates = schema::at(spec, "schedulingGates");
    if (!binding.metadata.uid.empty() && binding.metadata.uid != metadata.uid)
        return not_bindable(name,
                            "Precondition failed: UID in precondition: " + binding.metadata.uid + ", UID in object meta: " + metadata.uid);
    if (metadata.deletion_timestamp) return not_bindable(name, "pod " + name + " is being deleted, cannot be assigned to a host");
    if (const std::string_view node = spec.string_at({"nodeName"}); !node.empty())
        return not_bindable(name, "pod " + name + " is already assigned to node \"" + std::string(node) + "\"");
    if (gates.is_array() && !gates.as_array().empty()) return not_bindable(name, "pod " + name + " has non-empty .spec.schedulingGates");
    ApiObject object(current);
    Value& pod = binding.metadata.annotations.empty() ? object.edit_tree_beyond_metadata() : object.edit_bare_tree();
    pod.ensure_path({"spec"})["nodeName"] = binding.target.name;
    for (const auto& [key, value] : binding.metadata.annotations) pod.ensure_path({"metadata", "annotations"})[key] = value;
    TRY_VOID(set_scheduled(pod.ensure_path({"status"}), metadata.generation, now));
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
        Value::object({{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::object()}, {"status", "Success"}, {"code", 201}}));
}

}  // namespace porthole::apiserver
