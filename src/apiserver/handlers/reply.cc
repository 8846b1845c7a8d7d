#include "apiserver/handlers/reply.h"

#include <set>

#include "apiserver/request/status.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

/// RFC 7234 §5.5: code, agent and quoted text.
std::string warning_header(const std::string& text) {
    std::string header = "299 - \"";
    for (const char c : text) {
        if (c == '"' || c == '\\') header += '\\';
        header += c == '\n' || c == '\r' ? ' ' : c;
    }
    return header + '"';
}

}  // namespace

net::Headers common_headers(const RequestContext& context) {
    net::Headers headers{{"audit-id", context.audit_id}, {"cache-control", "no-cache, private"}};
    if (context.flow_ids) {
        headers.add("x-kubernetes-pf-flowschema-uid", context.flow_ids->flow_schema_uid);
        headers.add("x-kubernetes-pf-prioritylevel-uid", context.flow_ids->priority_level_uid);
    }
    std::set<std::string> sent;
    for (const std::string& warning : context.warnings)
        if (sent.insert(warning).second) headers.add("warning", warning_header(warning));
    return headers;
}

Task<> reply(RequestContext& context, int code, std::string content_type, std::vector<store::Bytes> body) {
    net::Headers headers = common_headers(context);
    headers.add("content-type", std::move(content_type));
    context.code = code;
    if (context.audit && context.audit->level == AuditLevel::RequestResponse) {
        context.audit->response_type = headers.get("content-type");
        context.audit->response = body;
    }
    context.give_back_seats();
    if (context.request.method == "HEAD") body.clear();
    return context.responder.respond(code, std::move(headers), std::move(body));
}

Task<> reply_text(RequestContext& context, int code, std::string text) {
    return reply(context, code, "text/plain; charset=utf-8", {bytes_of(std::move(text))});
}

Task<> reply_tree(RequestContext& context, int code, schema::Value tree) {
    OutputForm form = negotiate_output(context.request.headers.get("accept"), false, false).value_or(OutputForm());
    form.pretty = form.pretty || context.info.flag("pretty");
    std::string body = encode_tree(tree, form);
    if (context.audit && tree.string_at({"kind"}) == "Status") context.audit->status = std::move(tree);
    return reply(context, code, form.content_type(), {bytes_of(std::move(body))});
}

Task<> reply_error(RequestContext& context, Error error) {
    if (context.responder.started()) {
        context.code = http_code(error.reason);
        return context.responder.finish();
    }
    const int code = http_code(error.reason);
    if (error.reason == Reason::TooManyRequests || error.details->retry_after_seconds > 0) {
        net::Headers headers = common_headers(context);
        headers.add("retry-after", std::to_string(std::max(1, error.details->retry_after_seconds)));
        headers.add("content-type", "application/json");
        context.code = code;
        if (context.audit) context.audit->status = status_of(error);
        context.give_back_seats();
        return context.responder.respond(code, std::move(headers), {bytes_of(status_json(error))});
    }
    return reply_tree(context, code, status_of(error));
}

Task<> reply_object(RequestContext& context, const Resource& resource, int code, store::Bytes stored, Timestamp now) {
    CO_TRY(OutputForm form, negotiate_output(context.request.headers.get("accept"), true, false, resource.form == 0));
    form.pretty = form.pretty || context.info.flag("pretty");
    CO_TRY(const IncludeObject include, parse_include_object(context.info.parameter("includeObject")));
    const std::string content_type = form.content_type();
    const ResponseEncoder encoder(resource, std::move(form), include, now);
    CO_TRY(store::Bytes body, encoder.object(stored));
    std::vector<store::Bytes> pieces;
    pieces.push_back(std::move(body));
    co_return co_await reply(context, code, content_type, std::move(pieces));
}

}  // namespace porthole::apiserver
