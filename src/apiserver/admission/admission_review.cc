#include "apiserver/admission/admission_review.h"

#include "apiserver/admission/webhook_rules.h"
#include "apiserver/validation/names.h"
#include "base/base64.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t AnswerDepth = 64;
constexpr std::string_view ApiGroup = "admission.k8s.io/";

Value kind_of(std::string_view group, std::string_view version, std::string_view kind) {
    return Value::object({{"group", group}, {"version", version}, {"kind", kind}});
}

Value kind_of(const schema::Kind& kind) { return kind_of(kind.group, kind.version, kind.kind); }

Value resource_of(const schema::Kind& kind) {
    return Value::object({{"group", kind.group}, {"version", kind.version}, {"resource", kind.plural}});
}

Value user_info(const User& user) {
    Value value = Value::object();
    if (!user.name.empty()) value["username"] = user.name;
    if (!user.uid.empty()) value["uid"] = user.uid;
    const auto texts = [](const std::vector<std::string>& list) {
        Value array = Value::array();
        for (const std::string& one : list) array.as_array().emplace_back(one);
        return array;
    };
    if (!user.groups.empty()) value["groups"] = texts(user.groups);
    for (const auto& [key, list] : user.extra) value["extra"][key] = texts(list);
    return value;
}

/// The kind of what the request carries: of a subresource it may be another than the resource's.
Value body_kind(const schema::Kind& resource, const AdmissionAttributes& attributes) {
    if (const Value& options = attributes.connect_options; options.is_object()) {
        const auto [group, version] = schema::split_api_version(options.string_at({"apiVersion"}));
        return kind_of(group, version, options.string_at({"kind"}));
    }
    const ApiObject* body = attributes.object ? attributes.object : attributes.old_object;
    return kind_of(body && &body->kind() != &attributes.kind ? body->kind() : resource);
}

Value request_of(const AdmissionReview& review, const AdmissionAttributes& attributes) {
    Value request = admission_request(review.resource, attributes);
    request["uid"] = review.uid;
    request["object"] = review.object ? review.object->tree() : attributes.connect_options;
    request["oldObject"] = review.old_object ? review.old_object->tree() : Value();
    return request;
}

Reason reason_named(std::string_view name) {
    for (int i = static_cast<int>(Reason::BadRequest); i <= static_cast<int>(Reason::Timeout); ++i)
        if (to_string(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
    return Reason::Unknown;
}

/// A rejection has a code of 400 at least, and HTTP codes have three digits.
int denial_code(const Value& status) {
    const std::int64_t code = schema::at(status, "code").int_or(0);
    return code < 400 || code > 999 ? 400 : static_cast<int>(code);
}

std::string_view text_at(const Value& value, std::string_view key) { return schema::at(value, key).string_or(""); }

Error denial_of(const Value& status, const std::string& webhook) {
    std::string message = "admission webhook " + quote(webhook) + " denied the request";
    if (const std::string_view why = text_at(status, "message"); !why.empty())
        message += ": " + std::string(why);
    else if (const std::string_view reason = text_at(status, "reason"); !reason.empty())
        message += ": " + std::string(reason);
    else
        message += " without explanation";
    // The reason need not be one of the code; one that Kubernetes does not have is told in the message at most.
    Error error(reason_named(status.string_at({"reason"})), std::move(message));
    error.details->code = denial_code(status);
    const Value& details = schema::at(status, "details");
    if (!details.is_object()) return error;
    error.details->name = text_at(details, "name");
    error.details->group = text_at(details, "group");
    error.details->kind = text_at(details, "kind");
    error.details->uid = text_at(details, "uid");
    if (const Value* causes = details.find("causes"); causes && causes->is_array()) {
        for (const Value& cause : causes->as_array())
            error.details->causes.push_back(
                {std::string(text_at(cause, "reason")), std::string(text_at(cause, "message")), std::string(text_at(cause, "field"))});
    }
    return error;
}

Error wrong(std::string why) { return Error(Reason::InternalError, std::move(why)); }

/// Whether the answer is to the question; v1beta1 never asked for that.
Result<void> check_identity(const Value& answer, const Value& response, std::string_view version, std::string_view uid) {
    if (version != "v1") return {};
    if (const std::string_view given = text_at(response, "uid"); given != uid)
        return wrong("expected response.uid=" + quote(uid) + ", got " + quote(given));
    const auto [group, given] = schema::split_api_version(text_at(answer, "apiVersion"));
    if (text_at(answer, "kind") == "AdmissionReview" && group == "admission.k8s.io" && given == version) return {};
    return wrong("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got " + std::string(group) + "/" +
                 std::string(given) + ", Kind=" + std::string(text_at(answer, "kind")));
}

/// Whether a patch goes with the question, and is said to be of which type.
Result<void> check_patch(const Value& response, std::string_view version, bool mutating, AdmissionAnswer& answer) {
    const std::string_view patch = text_at(response, "patch");
    const Value* const type = response.find("patchType");
    const bool typed = type && type->is_string();
    if (!mutating) {
        if (version == "v1" && !patch.empty()) return wrong("validating webhook may not return response.patch");
        if (version == "v1" && typed) return wrong("validating webhook may not return response.patchType");
        return {};
    }
    if (version == "v1") {
        if (!patch.empty() && !typed) return wrong("webhook returned response.patch but not response.patchType");
        if (patch.empty() && typed) return wrong("webhook returned response.patchType but not response.patch");
        if (typed && type->as_string().empty()) return wrong("webhook returned invalid response.patchType of \"\"");
        if (typed && type->as_string() != "JSONPatch") answer.other_patch_type = type->as_string();
    }
    return {};
}

Result<Value> read_patch(std::string_view bytes) {
    auto operations = schema::parse_json(bytes);
    if (!operations) return wrong(operations.error().message);
    if (!operations->is_array()) return wrong("the patch is not a list of operations");
    return operations->as_array().empty() ? Value() : std::move(*operations);
}

/// The response that a body holds, if it is one to the question.
Result<void> check_response(const Value& answer, const Value& response, std::string_view version, std::string_view uid) {
    if (!response.is_object()) return wrong("webhook response was absent");
    TRY_VOID(check_identity(answer, response, version, uid));
    const Value& allowed = schema::at(response, "allowed");
    if (!allowed.is_bool() && !allowed.is_null()) return wrong("response.allowed is not a bool");
    return {};
}

void read_annotations(const Value& response, const std::string& webhook, AdmissionAnswer& answer) {
    const Value* const given = response.find("auditAnnotations");
    if (!given || !given->is_object()) return;
    for (const schema::Member& member : given->as_object()) {
        if (answer.audit_annotations.size() == MostAuditAnnotations) return;
        const std::string key = webhook + "/" + member.key;
        if (!member.value.is_string() || member.value.as_string().size() > LongestAuditAnnotation) continue;
        if (names::check_qualified_name(key).empty()) answer.audit_annotations[key] = member.value.as_string();
    }
}

}  // namespace

Value admission_request(const schema::Kind& resource, const AdmissionAttributes& attributes) {
    const schema::Kind& requested = attributes.request_kind ? *attributes.request_kind : attributes.kind;
    Value request = Value::object({{"kind", body_kind(resource, attributes)}, {"resource", resource_of(resource)}});
    if (!attributes.subresource.empty()) request["subResource"] = attributes.subresource;
    request["requestKind"] = body_kind(requested, attributes);
    request["requestResource"] = resource_of(requested);
    if (!attributes.subresource.empty()) request["requestSubResource"] = attributes.subresource;
    if (!attributes.name.empty()) request["name"] = attributes.name;
    if (const std::string& namespace_ = attributes.request_namespace(); !namespace_.empty()) request["namespace"] = namespace_;
    request["operation"] = operation_of(attributes);
    request["userInfo"] = user_info(attributes.user);
    request["dryRun"] = attributes.dry_run;
    request["options"] = attributes.options;
    return request;
}

std::string review_json(const AdmissionReview& review, const AdmissionAttributes& attributes) {
    return schema::to_json(Value::object({{"kind", "AdmissionReview"},
                                          {"apiVersion", std::string(ApiGroup) + review.version},
                                          {"request", request_of(review, attributes)}}));
}

Result<AdmissionAnswer> parse_admission_answer(std::string_view body, std::string_view version, std::string_view uid, bool mutating,
                                               const std::string& webhook) {
    const auto answer = schema::parse_json(body, {.depth = AnswerDepth});
    if (!answer) return wrong("failed to call webhook: the answer is not JSON: " + answer.error().message);
    const Value& response = schema::at(*answer, "response");
    const auto patch = decode_base64(text_at(response, "patch"));
    if (!patch) return wrong("failed to call webhook: response.patch: " + patch.error().message);
    AdmissionAnswer read;
    auto checked = check_response(*answer, response, version, uid);
    if (checked) checked = check_patch(response, version, mutating, read);
    if (!checked) return std::move(checked).error().with_context("received invalid webhook response");
    read.allowed = schema::at(response, "allowed").bool_or(false);
    if (read.allowed && mutating && !patch->empty()) {
        auto operations = read_patch(*patch);
        if (!operations) return std::move(operations).error().with_context("received undecodable patch in webhook response");
        read.patch = std::move(*operations);
    }
    if (const Value* warnings = response.find("warnings"); warnings && warnings->is_array()) {
        for (const Value& warning : warnings->as_array())
            if (warning.is_string() && !warning.as_string().empty()) read.warnings.push_back(warning.as_string());
    }
    read_annotations(response, webhook, read);
    if (!read.allowed) read.denial = denial_of(schema::at(response, "status"), webhook);
    return read;
}

}  // namespace porthole::apiserver
