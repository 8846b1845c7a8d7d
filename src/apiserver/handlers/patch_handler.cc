#include "apiserver/handlers/body.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/request/status.h"
#include "apiserver/resources/version_converter.h"
#include "base/result.h"
#include "base/strings.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr int ApplyAttempts = 5;
constexpr int VersionRounds = 64;  ///< questions of one apply about other versions

/// A patch that leaves resourceVersion as it is asks for no guard, so a lost race can be run again.
void drop_unchanged_version(Value& patched, const Value& current) {
    Value* metadata = patched.find("metadata");
    if (metadata && metadata->string_at({"resourceVersion"}) == current.string_at({"metadata", "resourceVersion"}))
        metadata->erase("resourceVersion");
}

/// What is applied has an owner for each of its fields: a field that the schema does not know is refused, whatever the client thinks of
/// unknown fields elsewhere. The words and the missing reason are upstream's.
Result<void> check_declared(const schema::Kind& kind, const Value& applied) {
    Value known = applied;
    const std::vector<std::string> unknown = schema::prune(known, *kind.type, true);
    if (unknown.empty()) return {};
    std::string faults;
    for (const std::string& path : unknown) {
        if (unknown.size() > 1) faults += "\n  ";
        faults += "." + path + ": field not declared in schema";
    }
    return Error(Reason::Unknown, "failed to create typed patch object (" + std::string(applied.string_at({"metadata", "namespace"})) +
                                      "/" + std::string(applied.string_at({"metadata", "name"})) + "; " + std::string(kind.group) + "/" +
                                      std::string(kind.version) + ", Kind=" + std::string(kind.kind) +
                                      "): " + (unknown.size() > 1 ? "errors:" : "") + faults);
}

Result<void> judge_duplicates(const std::vector<schema::DuplicateKey>& duplicates, FieldValidation validation,
                              std::vector<std::string>& warnings) {
    if (duplicates.empty() || validation == FieldValidation::Ignore) return {};
    std::string faults = "error converting YAML to JSON: yaml: unmarshal errors:";
    for (const schema::DuplicateKey& one : duplicates)
        faults += "\n  line " + std::to_string(one.line) + ": key " + quote(one.key) + " already set in map";
    if (validation == FieldValidation::Strict) return bad_request("error strict decoding YAML: " + faults);
    warnings.push_back(std::move(faults));
    return {};
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
        stored.tree();  // all of it, so that managedFields are not read by each copy
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
    std::vector<schema::DuplicateKey> duplicates;
    CO_TRY(Value applied, schema::parse_yaml(context.request.body, &duplicates));
    // What is applied must be an object of the kind, but stays as sparse as it was sent.
    CO_TRY(ApiObject checked, conform(*resource.kind, applied, FieldValidation::Ignore, context.warnings));
    CO_TRY_VOID(check_declared(*resource.kind, applied));
    CO_TRY_VOID(judge_duplicates(duplicates, options.field_validation, context.warnings));
    CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, checked));
    applied["apiVersion"] = resource.kind->api_version();
    applied["kind"] = resource.kind->kind;
    applied["metadata"]["name"] = context.info.name;
    if (resource.kind->namespaced()) applied["metadata"]["namespace"] = context.info.namespace_;

    WriteRequest request = write_request(context, resource, options);
    const schema::FieldManager manager = *std::exchange(request.manager, std::nullopt);
    std::optional<ObjectVersions> versions;
    if (resource.converter) versions.emplace(resource);
    const auto merge = [&](const Value& live) -> Result<ApiObject> {
        TRY(Value merged,
            schema::server_side_apply(*resource.kind, live, applied, manager, options.force, versions ? &*versions : nullptr));
        if (live.is_object() && applied.string_at({"metadata", "resourceVersion"}).empty()) drop_unchanged_version(merged, live);
        TRY(ApiObject object, conform(*resource.kind, std::move(merged), FieldValidation::Ignore, context.warnings));
        return to_stored(resource, std::move(object));
    };
    int rounds = 0;
    for (int attempt = 1;; ++attempt) {
        const bool exists = objects_.store().get(resource.key(request.namespace_, request.name)) != nullptr;
        if (!exists && !request.subresource.empty()) co_return not_found(*resource.kind, request.name);
        if (exists) {
            auto written = co_await objects_.mutate(request, [&](const ApiObject& stored) {
                stored.tree();
                return merge(to_served(resource, ApiObject(stored)).tree());
            });
            // The merge begins again with what it asked for.
            if (versions && versions->lacks_some() && ++rounds < VersionRounds) {
                CO_TRY_VOID(co_await versions->learn());
                --attempt;
                continue;
            }
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
