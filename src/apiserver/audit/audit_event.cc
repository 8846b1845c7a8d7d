#include "apiserver/audit/audit_event.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "base/time/time.h"
#include "base/values/ip.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t RoomForEvent = 1024;  ///< most are shorter
constexpr std::size_t LongestUserAgent = 1024;
constexpr std::string_view TruncatedMark = "...TRUNCATED";

/// Appends the members of one JSON object; destroying it closes the object.
class JsonObject {
public:
    explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
    JsonObject(const JsonObject&) = delete;
    ~JsonObject() { out_ += '}'; }

    /// For what is appended next.
    std::string& key(std::string_view name) {
        out_.append(first_ ? "\"" : ",\"").append(name).append("\":");
        first_ = false;
        return out_;
    }
    void text(std::string_view name, std::string_view value) { schema::append_json_string(value, key(name)); }
    void text_unless_empty(std::string_view name, std::string_view value) {
        if (!value.empty()) text(name, value);
    }
    void value(std::string_view name, const schema::Value& value) { schema::append_json(value, key(name)); }

private:
    std::string& out_;
    bool first_ = true;
};

template <class Texts>
void append_list(const Texts& texts, std::string& out) {
    out += '[';
    bool first = true;
    for (const auto& text : texts) {
        if (!std::exchange(first, false)) out += ',';
        schema::append_json_string(text, out);
    }
    out += ']';
}

void append_user(const User* user, std::string& out) {
    JsonObject object(out);
    if (!user) return;
    object.text_unless_empty("username", user->name);
    object.text_unless_empty("uid", user->uid);
    if (!user->groups.empty()) append_list(user->groups, object.key("groups"));
    if (user->extra.empty()) return;
    JsonObject extra(object.key("extra"));
    for (const auto& [name, values] : user->extra) append_list(values, extra.key(name));
}

/// Whom proxies name, then who is connected, which nobody can invent. See apimachinery: pkg/util/net/http.go, SourceIPs.
std::vector<std::string> source_addresses(const net::HttpRequest& request) {
    std::vector<std::string> addresses;
    const auto address_of = [](std::string_view text) {
        const auto address = IpAddress::parse(trim(text));
        return address ? address->to_string() : std::string();
    };
    for (std::string_view rest = request.headers.get("x-forwarded-for"); !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (std::string one = address_of(rest.substr(0, comma)); !one.empty()) addresses.push_back(std::move(one));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (std::string real = address_of(request.headers.get("x-real-ip"));
        !real.empty() && std::ranges::find(addresses, real) == addresses.end())
        addresses.push_back(std::move(real));
    const std::string& peer = request.peer.address;
    if (!peer.empty() && (addresses.empty() || addresses.back() != peer)) addresses.push_back(peer);
    return addresses;
}

void append_user_agent(std::string_view agent, JsonObject& event) {
    if (agent.size() <= LongestUserAgent)
        event.text_unless_empty("userAgent", agent);
    else
        event.text("userAgent", std::string(agent.substr(0, LongestUserAgent)).append(TruncatedMark));
}

void append_object_reference(const RequestInfo& info, const AuditObject* body, std::string& out) {
    static const AuditObject None;
    const AuditObject& told = body ? *body : None;
    JsonObject object(out);
    object.text_unless_empty("resource", info.resource);
    object.text_unless_empty("namespace", info.namespace_.empty() ? told.namespace_ : info.namespace_);
    object.text_unless_empty("name", info.name.empty() ? told.name : info.name);
    object.text_unless_empty("uid", told.uid);
    object.text_unless_empty("apiGroup", info.group);
    object.text_unless_empty("apiVersion", info.version);
    object.text_unless_empty("resourceVersion", told.resource_version);
    object.text_unless_empty("subresource", info.subresource);
}

void append_status(int code, const schema::Value* status, std::string& out) {
    JsonObject object(out);
    object.key("metadata") += "{}";
    for (const char* field : {"status", "message", "reason", "details"}) {
        const schema::Value* value = status ? status->find(field) : nullptr;
        if (value && !(value->is_string() && value->as_string().empty())) object.value(field, *value);
    }
    object.key("code") += std::to_string(code);
}

void append_event(const AuditEvent& event, std::string& line) {
    JsonObject object(line);
    object.key("kind") += "\"Event\"";
    object.key("apiVersion") += "\"audit.k8s.io/v1\"";
    object.text("level", to_string(event.level));
    object.text("auditID", event.audit_id);
    object.text("stage", to_string(event.stage));
    std::string uri = event.request.path;
    if (!event.request.query.empty()) uri.append("?").append(event.request.query);
    object.text("requestURI", uri);
    object.text("verb", event.info.verb);
    append_user(event.user, object.key("user"));
    if (event.impersonated) append_user(event.impersonated, object.key("impersonatedUser"));
    if (const auto addresses = source_addresses(event.request); !addresses.empty()) append_list(addresses, object.key("sourceIPs"));
    append_user_agent(event.request.headers.get("user-agent"), object);
    if (event.info.is_resource) append_object_reference(event.info, event.object, object.key("objectRef"));
    if (event.code != 0) append_status(event.code, event.status, object.key("responseStatus"));
    if (event.request_object) object.value("requestObject", *event.request_object);
    if (event.response_object) object.value("responseObject", *event.response_object);
    object.text("requestReceivedTimestamp", MicroTimestamp(event.received).to_string());
    object.text("stageTimestamp", MicroTimestamp(event.stage_time).to_string());
    if (event.annotations && !event.annotations->empty()) {
        JsonObject annotations(object.key("annotations"));
        for (const auto& [name, value] : *event.annotations) annotations.text(name, value);
    }
}

}  // namespace

std::string to_line(const AuditEvent& event) {
    std::string line;
    line.reserve(RoomForEvent);
    append_event(event, line);
    return line;
}

void remove_managed_fields(schema::Value& object) {
    if (schema::Value* metadata = object.find("metadata")) metadata->erase("managedFields");
    schema::Value* items = object.find("items");
    if (!items || !items->is_array()) return;
    for (schema::Value& item : items->as_array())
        if (schema::Value* metadata = item.find("metadata")) metadata->erase("managedFields");
}

std::string attempted_authentication(const net::HttpRequest& request) {
    std::string attempted;
    const auto add = [&](const char* what) { attempted += (attempted.empty() ? "" : ", ") + std::string(what); };
    const std::string authorization = to_lower(request.headers.get("authorization"));
    if (authorization.starts_with("basic ")) add("basic");
    if (authorization.starts_with("bearer ")) add("bearer");
    if (request.peer.certificate || !request.peer.certificate_error.empty()) add("x509");
    if (attempted.empty()) return "Authentication failed, no credentials provided";
    return "Authentication failed, attempted: " + attempted;
}

}  // namespace porthole::apiserver
