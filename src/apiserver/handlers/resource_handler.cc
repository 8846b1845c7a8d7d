#include "apiserver/handlers/resource_handler.h"

#include <algorithm>
#include <charconv>

#include "apiserver/handlers/body.h"
#include "apiserver/handlers/event_messages.h"
#include "apiserver/handlers/indentation.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/request/user_agent.h"
#include "apiserver/resources/continue_token.h"
#include "apiserver/resources/piecewise_range.h"
#include "apiserver/resources/watch_stream.h"
#include "apiserver/validation/field_selector.h"
#include "base/version.h"

namespace porthole::apiserver {
namespace {

constexpr int NameAttempts = 8;  ///< of a generated name

/// The agent that managedFields is told: the option, or the program's name from its User-Agent.
std::string manager_name(const RequestContext& context, const WriteOptions& options) {
    if (!options.field_manager.empty()) return options.field_manager;
    const std::string agent = manager_of_user_agent(context.request.headers.get("user-agent"));
    return agent.empty() ? "unknown" : agent;
}

/// "1.36" → 36.
int minor_of(std::string_view version) {
    int minor = 0;
    const std::string_view text = version.substr(std::min(version.find('.') + 1, version.size()));
    std::from_chars(text.data(), text.data() + text.size(), minor);
    return minor;
}

/// The warning of a version that Kubernetes gives up by now, in its words; "" for others.
std::string deprecation_of(const schema::Kind& kind) {
    const schema::Lifecycle& cycle = kind.lifecycle;
    if (cycle.deprecated.empty() || minor_of(cycle.deprecated) > KubernetesMinor) return "";
    std::string told = kind.api_version() + " " + std::string(kind.kind) + " is deprecated in v" + std::string(cycle.deprecated) + "+";
    if (!cycle.removed.empty()) told += ", unavailable in v" + std::string(cycle.removed) + "+";
    const std::size_t slash = cycle.replacement.rfind('/');
    if (slash != cycle.replacement.npos)
        told += "; use " + std::string(cycle.replacement.substr(0, slash)) + " " + std::string(cycle.replacement.substr(slash + 1));
    return told;
}

/// The options of a list or watch. What was authorized for one name is served for that name only: the name of
/// /api/v1/watch/.../NAME becomes part of the selector. Error: BadRequest where the selector asks for another.
Result<ListOptions> selection_of(const RequestInfo& info) {
    TRY(ListOptions options, parse_list_options(info));
    if (info.name.empty()) return options;
    if (options.field_selector.empty()) {
        options.field_selector = "metadata.name=" + escape_field_value(info.name);
    } else if (required_value(options.field_selector, "metadata.name") != info.name) {
        return bad_request("fieldSelector metadata.name doesn't match requested name");
    }
    return options;
}

/// Whether the kind has the subresource, and the verb.
Result<void> check_served(const schema::Kind& kind, const RequestInfo& info) {
    if (info.subresource.empty()) return kind.has_verb(info.verb) ? Result<void>() : verb_not_supported(kind, info.verb);
    const schema::Subresource* subresource = kind.find_subresource(info.subresource);
    if (!subresource) return no_such_resource();
    if (std::ranges::find(subresource->verbs, info.verb) == subresource->verbs.end()) return method_not_allowed();
    return {};
}

}  // namespace

Result<void> ensure_names_match_request(const RequestInfo& info, const schema::Kind& kind, ApiObject& object) {
    const ObjectMeta& metadata = object.metadata();
    if (kind.namespaced() && !metadata.namespace_.empty() && metadata.namespace_ != info.namespace_)
        return bad_request("the namespace of the provided object does not match the namespace sent on the request");
    if (!info.name.empty() && !metadata.name.empty() && metadata.name != info.name) {
        return bad_request("the name of the object (" + metadata.name + ") does not match the name on the URL (" + info.name + ")");
    }
    // What is not in a namespace loses the one that it names.
    const std::string namespace_ = kind.namespaced() ? info.namespace_ : "";
    if (metadata.namespace_ == namespace_ && (info.name.empty() || metadata.name == info.name)) return {};
    object.edit_metadata([&](ObjectMeta& edited) {
        edited.namespace_ = namespace_;
        if (!info.name.empty()) edited.name = info.name;
    });
    return {};
}

WriteRequest ResourceHandler::write_request(RequestContext& context, const Resource& resource, const WriteOptions& options) const {
    WriteRequest request{.resource = resource,
                         .namespace_ = resource.kind->namespaced() ? context.info.namespace_ : "",
                         .name = context.info.name,
                         .subresource = context.info.subresource,
                         .user = context.user,
                         .dry_run = options.dry_run,
                         .warnings = context.warnings,
                         .audit_annotations = context.audit_annotations,
                         .fence = context.fence};
    request.manager = schema::FieldManager{.name = manager_name(context, options),
                                           .api_version = resource.kind->api_version(),
                                           .subresource = context.info.subresource,
                                           .now = now()};
    return request;
}

Task<> ResourceHandler::require_verb(const RequestContext& context, std::string verb) {
    if (context.info.verb == verb) co_return {};
    AuthorizationAttributes attributes = authorization_attributes(context.user, context.info);
    attributes.verb = std::move(verb);
    CO_TRY(const Decision decision, co_await authorizer_.authorize(attributes));
    if (!decision.allowed()) co_return refusal(attributes, decision);
    co_return {};
}

Task<> ResourceHandler::handle(RequestContext& context, const Resource& resource) {
    const std::string& verb = context.info.verb;
    CO_TRY_VOID(check_served(*resource.kind, context.info));
    const bool of_namespace = resource.kind->namespaced() && context.info.namespace_.empty();
    // Nothing is served at such a path; without a name it is that of a list, but for custom resources upstream looks at the verb, too.
    if (of_namespace && verb != "list" && verb != "watch")
        co_return context.info.name.empty() && resource.form == 0 ? method_not_allowed() : no_such_resource();
    if (!resource.strategy->deprecation.empty()) context.warnings.emplace_back(resource.strategy->deprecation);
    if (std::string told = deprecation_of(*resource.kind); !told.empty()) context.warnings.push_back(std::move(told));
    if (verb == "get") co_return co_await get(context, resource);
    if (verb == "list") co_return co_await list(context, resource);
    if (verb == "watch") co_return co_await watch(context, resource);
    if (verb == "create" && context.info.name.empty()) co_return co_await create(context, resource);
    if (verb == "update" && !context.info.name.empty()) co_return co_await update(context, resource);
    if (verb == "patch" && !context.info.name.empty()) co_return co_await patch(context, resource);
    if (verb == "delete" && context.info.subresource.empty()) co_return co_await remove(context, resource);
    if (verb == "deletecollection") co_return co_await remove_collection(context, resource);
    co_return method_not_allowed();
}

Task<> ResourceHandler::get(RequestContext& context, const Resource& resource) {
    const std::string namespace_ = resource.kind->namespaced() ? context.info.namespace_ : "";
    std::string version(context.info.parameter("resourceVersion"));
    CO_TRY(const store::RecordPtr record, co_await objects_.get(resource, namespace_, context.info.name, std::move(version)));
    co_return co_await reply_object(context, resource, 200, record->value.bytes(), now());
}

Task<> ResourceHandler::refuse_page(RequestContext& context, Error error, std::string token) {
    CO_TRY(std::string next, ContinueToken::of_the_present(token));
    schema::Value status = status_of(error);
    status["metadata"]["continue"] = std::move(next);
    co_return co_await reply_tree(context, http_code(error), std::move(status));
}

Task<> ResourceHandler::list(RequestContext& context, const Resource& resource) {
    CO_TRY(OutputForm form, negotiate_output(context.request.headers.get("accept"), true, false, resource.form == 0));
    form.pretty = form.pretty || wants_indentation(context);
    CO_TRY(const IncludeObject include, parse_include_object(context.info.parameter("includeObject")));
    CO_TRY(ListOptions options, selection_of(context.info));
    const std::string namespace_ = resource.kind->namespaced() ? context.info.namespace_ : "";
    const std::string token = options.continue_;
    Pieces pieces{context.work, objects_.clock(), [&context] { context.go_on_in_pieces(); }};
    auto listed = co_await objects_.list(resource, namespace_, std::move(options), &pieces);
    if (!listed && listed.error().reason == Reason::Expired && !token.empty())
        co_return co_await refuse_page(context, std::move(listed).error(), token);
    CO_TRY(Page page, std::move(listed));
    const std::string content_type = form.content_type();
    const ResponseEncoder encoder(resource, std::move(form), include, now());
    context.go_on_in_pieces();
    CO_TRY(std::vector<store::Bytes> body, co_await encoder.list(page, context.work));
    co_return co_await reply(context, 200, content_type, std::move(body));
}

Task<> ResourceHandler::watch(RequestContext& context, const Resource& resource) {
    CO_TRY(OutputForm form, negotiate_output(context.request.headers.get("accept"), true, true, resource.form == 0));
    CO_TRY(const IncludeObject include, parse_include_object(context.info.parameter("includeObject")));
    CO_TRY(ListOptions options, selection_of(context.info));
    WatchRequest watched{resource, resource.kind->namespaced() ? context.info.namespace_ : "", std::move(options), context.work};
    net::Headers headers = common_headers(context);
    headers.add("content-type", form.content_type(true));
    context.code = 200;
    context.go_on_in_pieces();  // with the objects that there are, if they are asked for
    ResponseEncoder encoder(resource, std::move(form), include, now(), &sealed_);
    const auto begun = [&context] { context.give_back_seats(); };
    if (net::is_websocket_request(context.request)) {
        EventMessages messages(context, loop_);
        co_return co_await messages.carry(
            serve_watch(objects_, std::move(watched), std::move(encoder), std::move(headers), random_, messages, begun));
    }
    co_return co_await serve_watch(objects_, std::move(watched), std::move(encoder), std::move(headers), random_, context.responder, begun);
}

Task<> ResourceHandler::create(RequestContext& context, const Resource& resource) {
    CO_TRY(const WriteOptions options, parse_write_options(context.info, "CreateOptions", false));
    // A generated name is rarely taken: decoding the body again then is cheaper than copying every object in advance.
    for (int attempt = 1;; ++attempt) {
        CO_TRY(ApiObject object, decode_body(context, registry_, *resource.kind, options.field_validation));
        CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, object));
        const bool named = !object.name().empty();
        const auto written = co_await objects_.create(write_request(context, resource, options), to_stored(resource, std::move(object)));
        if (written) co_return co_await reply_object(context, resource, 201, written->bytes, now());
        const bool clash = !named && written.error().reason == Reason::AlreadyExists;
        if (!clash || attempt == NameAttempts) co_return written.error();
    }
}

Task<> ResourceHandler::update(RequestContext& context, const Resource& resource) {
    CO_TRY(const WriteOptions options, parse_write_options(context.info, "UpdateOptions", false));
    CO_TRY(ApiObject object, decode_body(context, registry_, *resource.kind, options.field_validation));
    if (object.name().empty())
        co_return bad_request("the name of the object (" + context.info.name + " based on URL) was undeterminable: name must be provided");
    CO_TRY_VOID(ensure_names_match_request(context.info, *resource.kind, object));
    CO_TRY(const Written written,
           co_await objects_.replace(write_request(context, resource, options), to_stored(resource, std::move(object)),
                                     [&] { return require_verb(context, "create"); }));
    co_return co_await reply_object(context, resource, written.created ? 201 : 200, written.bytes, now());
}

Task<> ResourceHandler::remove(RequestContext& context, const Resource& resource) {
    CO_TRY(const schema::Value body, decode_optional_body(context, registry_));
    CO_TRY(const DeleteOptions options, parse_delete_options(context.info, body));
    if (options.ignore_store_read_error) CO_TRY_VOID(co_await require_verb(context, "unsafe-delete-ignore-read-errors"));
    WriteRequest request = write_request(context, resource, {.dry_run = options.dry_run});
    CO_TRY(const Removed removed, co_await objects_.remove(std::move(request), options));
    if (removed.gone) co_return co_await reply_tree(context, 200, success_status(*resource.kind, removed.name, removed.uid));
    co_return co_await reply_object(context, resource, 200, removed.bytes, now());
}

Task<> ResourceHandler::remove_collection(RequestContext& context, const Resource& resource) {
    CO_TRY(const schema::Value body, decode_optional_body(context, registry_));
    CO_TRY(const DeleteOptions options, parse_delete_options(context.info, body));
    if (options.ignore_store_read_error)
        co_return bad_request("ignoreStoreReadErrorWithClusterBreakingPotential is not allowed for a collection: delete objects by name");
    CO_TRY(ListOptions selection, parse_list_options(context.info));
    WriteRequest request = write_request(context, resource, {.dry_run = options.dry_run});
    request.name.clear();
    Pieces selection_pieces{context.work, objects_.clock()};
    CO_TRY(const std::vector<Removed> removed,
           co_await objects_.remove_collection(std::move(request), options, std::move(selection), &selection_pieces));
    std::vector<store::Bytes> pieces;
    pieces.push_back(bytes_of("{\"kind\":\"" + std::string(resource.kind->list_kind) + "\",\"apiVersion\":\"" +
                              resource.kind->api_version() + "\",\"metadata\":{\"resourceVersion\":\"" +
                              store::to_string(objects_.store().revision()) + "\"},\"items\":["));
    for (std::size_t i = 0; i < removed.size(); ++i) {
        if (i > 0) pieces.push_back(bytes_of(","));
        pieces.push_back(served_bytes(resource, removed[i].bytes));
    }
    pieces.push_back(bytes_of("]}\n"));
    co_return co_await reply(context, 200, "application/json", std::move(pieces));
}

}  // namespace porthole::apiserver
