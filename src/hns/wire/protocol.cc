#include "hns/wire/protocol.h"

#include <array>

#include "hns/hresult.h"
#include "schema/json/json.h"

namespace porthole::hns::wire {
namespace {

constexpr std::size_t HeaderSize = 4;
constexpr std::array<std::string_view, 6> Verbs = {"Enumerate", "Create", "Open", "Query", "Modify", "Delete"};
constexpr std::array<std::string_view, 5> Kinds = {"Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"};

std::string_view suffix(Verb verb) {
    if (verb == Verb::Enumerate) return "s";
    return verb == Verb::Query ? std::string_view("Properties") : std::string_view();
}

Result<schema::Value> parse_object(std::string_view json) {
    TRY(auto tree, schema::parse_json(json, {.depth = 8}));
    if (!tree.is_object()) return Error(Reason::BadRequest, "a frame must hold a JSON object");
    return tree;
}

std::string text(const schema::Value& object, std::string_view name) { return std::string(schema::at(object, name).string_or("")); }

void put(schema::Value& object, std::string_view name, const std::string& value) {
    if (!value.empty()) object[name] = value;
}

}  // namespace

std::string encode_frame(std::string_view json) {
    CHECK(json.size() <= FrameLimit);
    std::string frame;
    frame.reserve(HeaderSize + json.size());
    for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(json.size() >> shift & 0xff);
    frame.append(json);
    return frame;
}

Result<std::optional<std::string>> FrameReader::next() {
    if (buffer_.size() < HeaderSize) return std::optional<std::string>();
    std::size_t size = 0;
    for (std::size_t i = 0; i < HeaderSize; ++i) size = size << 8 | static_cast<unsigned char>(buffer_[i]);
    if (size > FrameLimit) return Error(Reason::RequestEntityTooLarge, "a frame of " + std::to_string(size) + " bytes is too large");
    if (buffer_.size() < HeaderSize + size) return std::optional<std::string>();
    std::optional<std::string> json = buffer_.substr(HeaderSize, size);
    buffer_.erase(0, HeaderSize + size);
    return json;
}

Result<Request> parse_request(std::string_view json) {
    TRY(const schema::Value object, parse_object(json));
    Request request{text(object, "call"),     text(object, "id"),     text(object, "parent"),
                    text(object, "document"), text(object, "method"), text(object, "path")};
    if (request.call.empty()) return Error(Reason::BadRequest, "a request must name its call");
    return request;
}

std::string write_request(const Request& request) {
    schema::Value object = schema::Value::object({{"call", request.call}});
    put(object, "id", request.id);
    put(object, "parent", request.parent);
    put(object, "method", request.method);
    put(object, "path", request.path);
    put(object, "document", request.document);
    return schema::to_json(object);
}

Result<Response> parse_response(std::string_view json) {
    TRY(const schema::Value object, parse_object(json));
    const schema::Value* hresult = object.find("hresult");
    if (!hresult || !hresult->is_int()) return Error(Reason::BadRequest, "a response must have an hresult");
    return Response{static_cast<std::uint32_t>(hresult->as_int()), text(object, "id"), text(object, "document"), text(object, "error")};
}

std::string write_response(const Response& response) {
    schema::Value object = schema::Value::object({{"hresult", response.hresult}});
    put(object, "id", response.id);
    put(object, "document", response.document);
    put(object, "error", response.error);
    return schema::to_json(object);
}

Response failure(const Error& error) {
    const Hresult code = hresult_of(error);
    return {static_cast<std::uint32_t>(code == Hresult::Ok ? Hresult::Unexpected : code), "", "", error_record(error)};
}

std::string write_token(const std::string& token) { return schema::to_json(schema::Value::object({{"token", token}})); }

std::string parse_token(std::string_view json) {
    const auto object = parse_object(json);
    return object ? text(*object, "token") : "";
}

std::string write_notification(const Notification& notification) {
    return schema::to_json(schema::Value::object({{"notification", notification.type}, {"status", 0}, {"document", notification.data}}));
}

Result<Notification> parse_notification(std::string_view json) {
    TRY(const schema::Value object, parse_object(json));
    const schema::Value* type = object.find("notification");
    if (!type || !type->is_int()) {
        TRY(const Response refusal, parse_response(json));
        return error_of_record(refusal.hresult, refusal.error);
    }
    return Notification{static_cast<std::uint32_t>(type->as_int()), text(object, "document")};
}

std::optional<CallName> parse_call_name(std::string_view name) {
    if (!name.starts_with("Hcn")) return std::nullopt;
    name.remove_prefix(3);
    for (std::size_t v = 0; v < Verbs.size(); ++v) {
        const Verb verb{static_cast<int>(v)};
        if (!name.starts_with(Verbs[v]) || !name.ends_with(suffix(verb))) continue;
        const std::string_view word = name.substr(Verbs[v].size(), name.size() - Verbs[v].size() - suffix(verb).size());
        for (std::size_t k = 0; k < Kinds.size(); ++k) {
            if (Kinds[k] == word) return CallName{verb, ObjectKind{static_cast<int>(k)}};
        }
    }
    return std::nullopt;
}

std::string write_call_name(CallName name) {
    return "Hcn" + std::string(Verbs[static_cast<std::size_t>(name.verb)]) + std::string(Kinds[static_cast<std::size_t>(name.kind)]) +
           std::string(suffix(name.verb));
}

}  // namespace porthole::hns::wire
