#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/request/status.h"
#include "base/result.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr int ApplyAttempts = 5;

/// A patch that leaves resourceVersion as it is asks for no guard, so a lost race can be run again.
void drop_unchanged_version(Value& patched, const Value& current) {
    Value* metadata = patched.find("metadata");
    if (metadata && metadata->string_at({"resourceVersion"}) == current.string_at({"metadata", "resourceVersion"}))
        metadata->erase("resourceVersion");
}

}  // namespace

Task<> ResourceHandler::patch(RequestContext& context, const Resource& resource) {
    const MediaType media = parse_media_type(context.request.headers.get("content-type"));
    const auto type = schema::parse_patch_type(media.type);
    if (!type) co_return unknown_patch_type();
    const bool is_apply = *type == schema::PatchType::Apply;
    CO_TRY(WriteOptions options, parse_write_options(context.info, "PatchOptions", is_apply));
    if (is_apply) co_return co_await apply(context, resource, std::move(options));

    CO_TRY(const Value patch, schema::parse_json(context.request.body));
    const std::vector<std::string> warnings_before = context.warnings;
    const Mutation mutation = [&](const ApiObject& stored) -> Result<ApiObject> {
        context.warnings = warnings_before;
        const ApiObject current = to_served(resource, ApiObject(stored));
        TRY(Value patched, schema::apply_patch(*type, *resource.kind, current.tree(), patch));
        drop_unchanged_version(patched, current.tree());
        TRY(ApiObject object, conform(*resource.kind, std::move(patched), options.field_validation, context.warnings));
        TRY_VOID(ensure_names_match_request(context.info, *resource.kind, object));
        return to_stored(resource, std::move(object));
    };
    CO_TRY(const Written written, co_await objects_.mutate(write_request(context, resource, options), mutation));
    co_return co_await reply_object(context, resource, 200, written.bytes, now());
}

Task<> ResourceHandler::apply(RequestContext& context, const Resource& resource, WriteOptions options) {
    CO_TRY(Value applied, schema::parse_yaml(context.request.body));
    // What is applied must be an object of the kind, but stays as sparse as it was sent.
    CO_TRY(ApiObject checked, conform(*resource.kind, applied, options.field_validation, context.warnings));
    CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, checked));
    schema::prune(applied, *resource.kind->type, true);
    applied["apiVersion"] = resource.kind->api_version();
    applied["kind"] = resource.kind->kind;
    applied["metadata"]["name"] = context.info.name;
    if (resource.kind->namespaced()) applied["metadata"]["namespace"] = context.info.namespace_;

    WriteRequest request = write_request(context, resource, options);
    const schema::FieldManager manager = *std::exchange(request.manager, std::nullopt);
    const auto merge = [&](const Value& live) -> Result<ApiObject> {
        TRY(Value merged, schema::server_side_apply(*resource.kind, live, applied, manager, options.force));
        if (live.is_object() && applied.string_at({"metadata", "resourceVersion"}).empty()) drop_unchanged_version(merged, live);
        TRY(ApiObject object, conform(*resource.kind, std::move(merged), FieldValidation::Ignore, context.warnings));
        return to_stored(resource, std::move(object));
    };
    for (int attempt = 1;; ++attempt) {
        const bool exists = objects_.store().get(resource.key(request.namespace_, request.name)) != nullptr;
        if (!exists && !request.subresource.empty()) co_return not_found(*resource.kind, request.name);
        if (exists) {
            auto written = co_await objects_.mutate(
                request, [&](const ApiObject& stored) { return merge(to_served(resource, ApiObject(stored)).tree()); });
            const bool vanished = is_not_found(written) && request.subresource.empty();
            if (vanished && attempt < ApplyAttempts) continue;
            CO_TRY(const Written done, std::move(written));
            co_return co_await reply_object(context, resource, 200, done.bytes, now());
        }
        CO_TRY_VOID(co_await require_verb(context, "create"));
        CO_TRY(ApiObject object, merge(schema::null_value()));
        auto written = co_await objects_.create(request, std::move(object));
        if (!written && written.error().reason == Reason::AlreadyExists && attempt < ApplyAttempts) continue;
        CO_TRY(const Written done, std::move(written));
        co_return co_await reply_object(context, resource, 201, done.bytes, now());
    }
}

}  // namespace porthole::apiserver
