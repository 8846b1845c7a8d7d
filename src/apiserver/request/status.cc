#include "apiserver/request/status.h"

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

Error about(const schema::Kind& kind, std::string_view name, Reason reason, std::string message) {
    Error error(reason, std::move(message));
    error.details->group = kind.group;
    error.details->kind = kind.plural;
    error.details->name = name;
    return error;
}

Value details_of(const ErrorDetails& details) {
    Value value = Value::object();
    const auto set = [&](const char* key, const std::string& text) {
        if (!text.empty()) value[key] = text;
    };
    set("name", details.name);
    set("group", details.group);
    set("kind", details.kind);
    set("uid", details.uid);
    if (!details.causes.empty()) {
        schema::Array causes;
        for (const Cause& cause : details.causes) {
            Value item = Value::object();
            if (!cause.type.empty()) item["reason"] = cause.type;
            item["message"] = cause.message;
            if (!cause.field.empty()) item["field"] = cause.field;
            causes.push_back(std::move(item));
        }
        value["causes"] = std::move(causes);
    }
    if (details.retry_after_seconds > 0) value["retryAfterSeconds"] = details.retry_after_seconds;
    return value;
}

}  // namespace

Value status_of(const Error& error) {
    Value status = Value::object({{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::object()}, {"status", "Failure"}});
    status["message"] = error.message;
    if (const std::string reason = to_string(error.reason); !reason.empty()) status["reason"] = reason;
    Value details = details_of(*error.details);
    if (!details.as_object().empty()) status["details"] = std::move(details);
    status["code"] = http_code(error);
    return status;
}

std::string status_json(const Error& error) { return schema::to_json(status_of(error)); }

Value success_status(const schema::Kind& kind, std::string_view name, std::string_view uid) {
    Value details = Value::object({{"name", name}});
    if (!kind.group.empty()) details["group"] = kind.group;
    details["kind"] = kind.plural;
    if (!uid.empty()) details["uid"] = uid;
    return Value::object(
        {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::object()}, {"status", "Success"}, {"details", std::move(details)}});
}

std::string qualified_resource(const schema::Kind& kind) {
    return kind.group.empty() ? std::string(kind.plural) : std::string(kind.plural) + "." + std::string(kind.group);
}

Error not_found(const schema::Kind& kind, std::string_view name) {
    return about(kind, name, Reason::NotFound, qualified_resource(kind) + " " + quote(name) + " not found");
}

Error already_exists(const schema::Kind& kind, std::string_view name) {
    return about(kind, name, Reason::AlreadyExists, qualified_resource(kind) + " " + quote(name) + " already exists");
}

Error conflict(const schema::Kind& kind, std::string_view name, const std::string& why) {
    return about(kind, name, Reason::Conflict,
                 "Operation cannot be fulfilled on " + qualified_resource(kind) + " " + quote(name) + ": " + why);
}

Error modified_meanwhile(const schema::Kind& kind, std::string_view name) {
    return conflict(kind, name, "the object has been modified; please apply your changes to the latest version and try again");
}

Error bad_request(std::string message) { return Error(Reason::BadRequest, std::move(message)); }

Error no_such_resource() { return Error(Reason::NotFound, "the server could not find the requested resource"); }

Error method_not_allowed() { return Error(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"); }

Error verb_not_supported(const schema::Kind& kind, std::string_view verb) {
    return about(kind, "", Reason::MethodNotAllowed,
                 std::string(verb) + " is not supported on resources of kind " + quote(qualified_resource(kind)));
}

Error forbidden_object(const schema::Kind& kind, std::string_view name, const std::string& why) {
    return about(kind, name, Reason::Forbidden, qualified_resource(kind) + " " + quote(name) + " is forbidden: " + why);
}

Error too_many_requests() {
    Error error(Reason::TooManyRequests, "Too many requests, please try again later.");
    error.details->retry_after_seconds = 1;
    return error;
}

}  // namespace porthole::apiserver
