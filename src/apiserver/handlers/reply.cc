#include "apiserver/handlers/reply.h"

#include <algorithm>
#include <set>

#include "apiserver/handlers/indentation.h"
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

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string first_characters(std::string_view text, std::size_t most) {
    std::size_t end = 0;
    for (std::size_t seen = 0; end < text.size(); ++end)
        if ((text[end] & 0xC0) != 0x80 && seen++ == most) break;
    return std::string(text.substr(0, end));
}

/// Each once. As upstream, those that are long together are cut, and then only as many are sent as fit.
std::vector<std::string> sent_warnings(const std::vector<std::string>& warnings) {
    constexpr std::size_t MostTogether = 4096, MostWhenCut = 256;
    std::set<std::string_view> known;
    std::vector<std::string> sent;
    std::size_t length = 0;
    for (const std::string& warning : warnings) {
        if (!known.insert(warning).second) continue;
        sent.push_back(warning);
        length += count_characters(warning);
    }
    if (length <= MostTogether) return sent;
    length = 0;
    std::vector<std::string> cut;
    for (const std::string& warning : sent) {
        cut.push_back(first_characters(warning, MostWhenCut));
        length += count_characters(cut.back());
        if (length > MostTogether) {
            cut.pop_back();
            break;
        }
    }
    return cut;
}

}  // namespace

net::Headers common_headers(const RequestContext& context) {
    net::Headers headers{{"audit-id", context.audit_id}, {"cache-control", "no-cache, private"}};
    if (context.flow_ids) {
        headers.add("x-kubernetes-pf-flowschema-uid", context.flow_ids->flow_schema_uid);
        headers.add("x-kubernetes-pf-prioritylevel-uid", context.flow_ids->priority_level_uid);
    }
    for (const std::string& warning : sent_warnings(context.warnings)) headers.add("warning", warning_header(warning));
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
    form.pretty = form.pretty || wants_indentation(context);
    std::string body = encode_tree(tree, form);
    if (context.audit && tree.string_at({"kind"}) == "Status") context.audit->status = std::move(tree);
    return reply(context, code, form.content_type(), {bytes_of(std::move(body))});
}

Task<> reply_error(RequestContext& context, Error error) {
    if (context.responder.started()) {
        context.code = http_code(error);
        return context.responder.finish();
    }
    const int code = http_code(error);
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
    form.pretty = form.pretty || wants_indentation(context);
    CO_TRY(const IncludeObject include, parse_include_object(context.info.parameter("includeObject")));
    const std::string content_type = form.content_type();
    const ResponseEncoder encoder(resource, std::move(form), include, now);
    CO_TRY(store::Bytes body, encoder.object(stored));
    std::vector<store::Bytes> pieces;
    pieces.push_back(std::move(body));
    co_return co_await reply(context, code, content_type, std::move(pieces));
}

}  // namespace porthole::apiserver
