#include "apiserver/subresources/scale.h"

#include "api/autoscaling_v1.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/resources/object_codec.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/label_selector.h"
#include "base/strings.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/patch/apply.h"
#include "schema/patch/patch.h"
#include "schema/print/json_path.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using api::autoscaling::v1::Scale;
using schema::Value;

/// Replication controllers have a plain map of labels where the others have a selector.
std::string selector_text(const Value& object) {
    const Value* selector = object.at_path({"spec", "selector"});
    if (!selector || !selector->is_object()) return "";
    api::meta::v1::LabelSelector parsed;
    const bool plain = !selector->find("matchLabels") && !selector->find("matchExpressions");
    if (plain) {
        for (const schema::Member& member : selector->as_object()) parsed.match_labels[member.key] = member.value.string_or("");
    } else if (auto converted = schema::from_value<api::meta::v1::LabelSelector>(*selector)) {
        parsed = std::move(*converted);
    }
    return to_string(LabelSelector::from(parsed));
}

/// 0 where there is none.
Result<std::int32_t> number_at(const Value& object, std::string_view path) {
    const Value& number = schema::first_at(object, path);
    if (number.is_null()) return 0;
    if (!number.is_int()) {
        return Error(Reason::InternalError, std::string(path) + " accessor error: " + schema::to_json(number) + " is of the type " +
                                                number.type_name() + ", expected int64");
    }
    if (number.as_int() < INT32_MIN || number.as_int() > INT32_MAX)
        return Error(Reason::InternalError, std::string(path) + ": " + schema::to_json(number) + " is not a 32-bit integer");
    return static_cast<std::int32_t>(number.as_int());
}

/// Puts a value where a path of names leads, with the objects on the way. Error: Invalid where something else is in the way.
Result<void> put_at(const Resource& resource, Value& object, std::string_view path, Value value) {
    Value* place = &object;
    for (const std::string_view name : split_views(path.substr(1), '.')) {
        if (!place->is_null() && !place->is_object()) {
            FieldErrors errors;
            errors.invalid(FieldPath(path.substr(1)), *place, "should be in an object");
            return invalid(*resource.kind, object.string_at({"metadata", "name"}), errors);
        }
        place = &(*place)[name];
    }
    *place = std::move(value);
    return {};
}

std::string selector_of(const Resource& resource, const ApiObject& object) {
    if (!resource.scale.selector.empty()) return std::string(schema::first_at(object.tree(), resource.scale.selector).string_or(""));
    return object.is_built_in() ? selector_text(object.tree()) : "";
}

/// Error: InternalError for a custom object whose numbers are none.
Result<Scale> scale_of(const Resource& resource, const ApiObject& object) {
    const ObjectMeta& metadata = object.metadata();
    Scale scale;
    scale.metadata.name = metadata.name;
    scale.metadata.namespace_ = metadata.namespace_;
    scale.metadata.uid = metadata.uid;
    scale.metadata.resource_version = metadata.resource_version;
    scale.metadata.creation_timestamp = metadata.creation_timestamp;
    TRY(scale.spec.replicas, number_at(object.tree(), resource.scale.replicas));
    TRY(scale.status.replicas, number_at(object.tree(), resource.scale.status_replicas));
    scale.status.selector = selector_of(resource, object);
    return scale;
}

Result<void> check(const Scale& scale) {
    if (scale.spec.replicas >= 0) return {};
    FieldErrors errors;
    errors.invalid("spec.replicas", scale.spec.replicas, "must be greater than or equal to 0");
    return invalid(Scale::kind(), scale.metadata.name, errors);
}

/// The workload with the scale's replicas, guarded by the scale's version if it has one.
Result<ApiObject> scaled(const Resource& resource, const ApiObject& current, const Scale& scale) {
    TRY_VOID(check(scale));
    if (!scale.metadata.uid.empty() && scale.metadata.uid != current.metadata().uid) {
        return conflict(
            current.kind(), current.name(),
            "Precondition failed: UID in precondition: " + scale.metadata.uid + ", UID in object meta: " + current.metadata().uid);
    }
    ApiObject object(current);
    TRY_VOID(put_at(resource, object.edit_tree(), resource.scale.replicas, scale.spec.replicas));
    object.edit_metadata([&](ObjectMeta& metadata) { metadata.resource_version = scale.metadata.resource_version; });
    return object;
}

Task<> reply_scale(RequestContext& context, const Resource& resource, const store::Bytes& stored) {
    CO_TRY(Value tree, schema::parse_json(*stored));
    CO_TRY(const Scale scale, scale_of(resource, ApiObject(*resource.stored, std::move(tree))));
    co_return co_await reply_tree(context, 200, ApiObject::of(scale).tree());
}

Task<> change(ResourceHandler& handler, RequestContext& context, const Resource& resource, WriteOptions options, Mutation mutation) {
    WriteRequest request = handler.write_request(context, resource, options);
    CO_TRY(const Written written, co_await handler.objects().mutate(std::move(request), std::move(mutation)));
    co_return co_await reply_scale(context, resource, written.bytes);
}

/// Server-side apply of a Scale is one of its workload, of the number alone: the manager owns that field under the name of this
/// subresource.
Task<> apply(ResourceHandler& handler, RequestContext& context, const Resource& resource) {
    CO_TRY(const WriteOptions options, parse_write_options(context.info, "PatchOptions", true));
    CO_TRY(const Value body, schema::parse_yaml(context.request.body));
    CO_TRY(ApiObject checked, conform(Scale::kind(), body, options.field_validation, context.warnings));
    CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, checked));
    const Scale scale = checked.view<Scale>();
    CO_TRY_VOID(check(scale));

    Value applied = Value::object({{"apiVersion", resource.kind->api_version()}, {"kind", std::string(resource.kind->kind)}});
    applied["metadata"]["name"] = context.info.name;
    applied["metadata"]["namespace"] = context.info.namespace_;
    if (const Value* replicas = body.at_path({"spec", "replicas"}))
        CO_TRY_VOID(put_at(resource, applied, resource.scale.replicas, *replicas));

    WriteRequest request = handler.write_request(context, resource, options);
    const schema::FieldManager manager = *std::exchange(request.manager, std::nullopt);
    const Mutation mutation = [&](const ApiObject& stored) -> Result<ApiObject> {
        const ApiObject current = to_served(resource, ApiObject(stored));
        TRY(Value merged, schema::server_side_apply(*resource.kind, current.tree(), applied, manager, options.force));
        TRY(ApiObject object, conform(*resource.kind, std::move(merged), FieldValidation::Ignore, context.warnings));
        object.edit_metadata([&](ObjectMeta& metadata) { metadata.resource_version = scale.metadata.resource_version; });
        return to_stored(resource, std::move(object));
    };
    CO_TRY(const Written written, co_await handler.objects().mutate(std::move(request), mutation));
    co_return co_await reply_scale(context, resource, written.bytes);
}

}  // namespace

Task<> handle_scale(ResourceHandler& handler, RequestContext& context, const Resource& resource) {
    const std::string& verb = context.info.verb;
    if (verb == "get") {
        CO_TRY(const store::RecordPtr record, co_await handler.objects().get(resource, context.info.namespace_, context.info.name, ""));
        CO_TRY(const Value stored, schema::parse_json(*record->value.bytes()));
        // As upstream says it: 0 would tell an autoscaler that it is turned off.
        if (schema::first_at(stored, resource.scale.replicas).is_null() && !resource.kind->type->create) {
            co_return Error(Reason::InternalError,
                            "Internal error occurred: the spec replicas field " + quote(resource.scale.replicas) + " does not exist");
        }
        co_return co_await reply_scale(context, resource, record->value.bytes());
    }
    if (verb == "update") {
        CO_TRY(const WriteOptions options, parse_write_options(context.info, "UpdateOptions", false));
        CO_TRY(ApiObject body, decode_body(context, handler.registry(), Scale::kind(), options.field_validation));
        CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, body));
        const Scale scale = body.view<Scale>();
        co_return co_await change(handler, context, resource, options,
                                  [&resource, scale](const ApiObject& current) { return scaled(resource, current, scale); });
    }
    if (verb != "patch") co_return method_not_allowed();
    const auto type = schema::parse_patch_type(parse_media_type(context.request.headers.get("content-type")).type);
    if (!type) co_return unknown_patch_type();
    if (*type == schema::PatchType::Apply) co_return co_await apply(handler, context, resource);
    CO_TRY(const WriteOptions options, parse_write_options(context.info, "PatchOptions", false));
    CO_TRY(const Value patch, schema::parse_json(context.request.body));
    co_return co_await change(handler, context, resource, options, [&, patch](const ApiObject& current) -> Result<ApiObject> {
        TRY(const Scale before, scale_of(resource, current));
        TRY(Value patched, schema::apply_patch(*type, Scale::kind(), schema::to_value(before), patch));
        TRY(const ApiObject object, conform(Scale::kind(), std::move(patched), options.field_validation, context.warnings));
        Scale scale = object.view<Scale>();
        if (scale.metadata.resource_version == before.metadata.resource_version) scale.metadata.resource_version.clear();
        return scaled(resource, current, scale);
    });
}

}  // namespace porthole::apiserver
