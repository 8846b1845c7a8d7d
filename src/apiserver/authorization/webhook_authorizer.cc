#include "apiserver/authorization/webhook_authorizer.h"

#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t MostAnswers = 8192, LongestRemembered = 10'000;

Value list_of(const std::vector<std::string>& texts) {
    Value list = Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

const char* name_of(objects::Operator operation) {
    switch (operation) {
        case objects::Operator::In:
            return "In";
        case objects::Operator::NotIn:
            return "NotIn";
        case objects::Operator::Exists:
            return "Exists";
        case objects::Operator::DoesNotExist:
            return "DoesNotExist";
        default:
            return nullptr;  // the review has no words for it: the server decides about more objects than are asked for
    }
}

/// null where there is no selector, or one that cannot be parsed and so selects nothing.
Value label_requirements(const std::string& text) {
    const auto selector = LabelSelector::parse(text);
    if (text.empty() || !selector) return {};
    Value requirements = Value::array();
    for (const auto& one : selector->requirements()) {
        const char* operation = name_of(one.operation);
        if (!operation) continue;
        Value requirement = Value::object({{"key", one.key}, {"operator", operation}});
        if (!one.values.empty()) requirement["values"] = list_of(one.values);
        requirements.as_array().push_back(std::move(requirement));
    }
    return Value::object({{"requirements", std::move(requirements)}});
}

Value field_requirements(const std::string& text) {
    const auto selector = FieldSelector::parse(text);
    if (text.empty() || !selector) return {};
    Value requirements = Value::array();
    for (const auto& term : selector->terms())
        requirements.as_array().push_back(
            Value::object({{"key", term.field}, {"operator", term.equal ? "In" : "NotIn"}, {"values", Value::array({term.value})}}));
    return Value::object({{"requirements", std::move(requirements)}});
}

Value resource_attributes(const AuthorizationAttributes& attributes) {
    Value resource = Value::object();
    const auto set = [&](const char* key, const std::string& text) {
        if (!text.empty()) resource[key] = text;
    };
    set("namespace", attributes.namespace_);
    set("verb", attributes.verb);
    set("group", attributes.group);
    set("version", attributes.version);
    set("resource", attributes.resource);
    set("subresource", attributes.subresource);
    set("name", attributes.name);
    if (Value fields = field_requirements(attributes.field_selector); !fields.is_null()) resource["fieldSelector"] = std::move(fields);
    if (Value labels = label_requirements(attributes.label_selector); !labels.is_null()) resource["labelSelector"] = std::move(labels);
    return resource;
}

void fill(Value& object, std::initializer_list<const char*> fields, const Value& value) {
    for (const char* field : fields)
        if (!object.find(field)) object[field] = value;
}

}  // namespace

Value access_review_spec(const AuthorizationAttributes& attributes, std::string_view version) {
    Value spec = Value::object();
    if (attributes.is_resource) {
        spec["resourceAttributes"] = resource_attributes(attributes);
    } else {
        spec["nonResourceAttributes"] = Value::object({{"path", attributes.path}, {"verb", attributes.verb}});
    }
    const User& user = attributes.user;
    if (!user.name.empty()) spec["user"] = user.name;
    if (!user.groups.empty()) spec[version == "v1beta1" ? "group" : "groups"] = list_of(user.groups);
    if (!user.extra.empty()) {
        Value extra = Value::object();
        for (const auto& [key, values] : user.extra) extra[key] = list_of(values);
        spec["extra"] = std::move(extra);
    }
    if (!user.uid.empty()) spec["uid"] = user.uid;
    return spec;
}

Value match_condition_request(const AuthorizationAttributes& attributes) {
    Value request = access_review_spec(attributes, "v1");
    fill(request, {"user", "uid"}, "");
    fill(request, {"groups"}, Value::array());
    fill(request, {"extra"}, Value::object());
    if (!attributes.is_resource) return request;
    Value& resource = request["resourceAttributes"];
    fill(resource, {"namespace", "verb", "group", "version", "resource", "subresource", "name"}, "");
    for (const char* selector : {"fieldSelector", "labelSelector"})
        if (resource.find(selector))
            for (Value& requirement : resource[selector]["requirements"].as_array()) fill(requirement, {"values"}, Value::array());
    return request;
}

Decision decision_of_access_review(const Value& review) {
    const Value& status = schema::at(review, "status");
    const bool allowed = schema::at(status, "allowed").bool_or(false), denied = schema::at(status, "denied").bool_or(false);
    std::string reason(status.string_at({"reason"}));
    if (allowed && denied)
        return Decision::failed(Decision::Kind::Deny, "webhook subject access review returned both allow and deny response");
    if (allowed) return Decision::allow(std::move(reason));
    if (denied) return Decision::deny(std::move(reason));
    return Decision::no_opinion(std::move(reason));
}

WebhookAuthorizer::WebhookAuthorizer(std::unique_ptr<Webhook> webhook, WebhookAuthorizerOptions options, const Clock& clock,
                                     AccessConditionMetrics& metrics)
    : webhook_(std::move(webhook)), options_(std::move(options)), clock_(clock), metrics_(metrics), answers_(MostAnswers) {}

Result<bool> WebhookAuthorizer::is_asked(const AuthorizationAttributes& attributes) const {
    if (options_.match_conditions.empty()) return true;
    const MonotonicTime begun = clock_.now();
    auto outcome = options_.match_conditions.match(match_condition_request(attributes));
    metrics_.add(options_.name, clock_.now() - begun, outcome);
    return outcome;
}

Decision WebhookAuthorizer::failed(std::string error) const {
    return Decision::failed(options_.deny_on_failure ? Decision::Kind::Deny : Decision::Kind::NoOpinion, std::move(error));
}

Task<Decision> WebhookAuthorizer::authorize(const AuthorizationAttributes& attributes) {
    const auto asked = is_asked(attributes);
    if (!asked) co_return failed(asked.error().message);
    if (!*asked) co_return Decision::no_opinion();
    const Value spec = access_review_spec(attributes, options_.version);
    const std::string key = schema::to_json(spec);
    if (const Answer* known = answers_.find(key); known && clock_.now() < known->until) co_return known->decision;
    auto answer = co_await webhook_->review(
        Value::object({{"kind", "SubjectAccessReview"}, {"apiVersion", "authorization.k8s.io/" + options_.version}, {"spec", spec}}),
        attributes.user.name);
    // That others have taken all calls is no answer, and no failure that the next authorizer may decide after.
    if (!answer && answer.error().reason == Reason::TooManyRequests) co_return std::move(answer).error();
    if (is_cancelled(answer)) co_return std::move(answer).error();
    if (!answer) co_return failed("webhook authorizer: " + answer.error().message);
    const Decision decided = decision_of_access_review(*answer);
    const Duration ttl = decided.allowed() ? options_.authorized_ttl : options_.unauthorized_ttl;
    const bool remembered = decided.error.empty() && ttl > Duration::zero() && key.size() <= LongestRemembered;
    if (remembered) answers_.put(key, {decided, clock_.now() + ttl});
    co_return decided;
}

}  // namespace porthole::apiserver
