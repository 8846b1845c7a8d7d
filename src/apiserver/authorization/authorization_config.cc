#include "apiserver/authorization/authorization_config.h"

#include <algorithm>
#include <set>

#include "apiserver/outgoing/config_object.h"
#include "apiserver/validation/names.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using Type = AuthorizerOptions::Type;

struct TypeName {
    std::string_view name;
    Type type;
};
constexpr TypeName TypeNames[] = {{"AlwaysAllow", Type::AlwaysAllow},
                                  {"AlwaysDeny", Type::AlwaysDeny},
                                  {"Node", Type::Node},
                                  {"RBAC", Type::Rbac},
                                  {"Webhook", Type::Webhook}};
constexpr Duration LongestTimeout = 30s;
constexpr std::size_t MostMatchConditions = 64;

void check_choice(ConfigObject& object, const char* field, const std::string& value, std::initializer_list<std::string_view> allowed) {
    if (value.empty()) {
        object.problems().required(object.path_of(field));
    } else if (std::ranges::find(allowed, value) == allowed.end()) {
        object.problems().add(object.path_of(field), "Unsupported value: " + quote(value) + ": supported values: " +
                                                         join(allowed, ", ", [](std::string_view one) { return quote(one); }));
    }
}

Duration read_ttl(ConfigObject& object, const char* field, const char* cached, Duration fallback) {
    const Duration ttl = object.duration(field, fallback);
    if (ttl <= Duration::zero()) object.problems().add(object.path_of(field), "Invalid value: must be > 0s");
    return object.flag(cached, true) ? ttl : Duration::zero();
}

AccessConditions read_match_conditions(ConfigObject& object) {
    ConfigProblems& problems = object.problems();
    AccessConditions conditions;
    auto entries = object.objects("matchConditions");
    if (object.has("matchConditionSubjectAccessReviewVersion")) {
        check_choice(object, "matchConditionSubjectAccessReviewVersion", object.text("matchConditionSubjectAccessReviewVersion"), {"v1"});
    } else if (!entries.empty()) {
        problems.required(object.path_of("matchConditionSubjectAccessReviewVersion"), "required if match conditions are specified");
    }
    if (entries.size() > MostMatchConditions) {
        problems.add(object.path_of("matchConditions"), "Too many: " + std::to_string(entries.size()) + ": must have at most 64 items");
        return conditions;
    }
    std::set<std::string> seen;
    for (ConfigObject& entry : entries) {
        const std::string text = entry.text("expression"), path = entry.path_of("expression");
        if (trim(text).empty()) {
            problems.required(path);
        } else if (!seen.insert(text).second) {
            problems.add(path, "Duplicate value: " + quote(text));
        } else if (const auto added = conditions.add(text); !added) {
            problems.invalid(path, text, added.error().message);
        }
        entry.finish();
    }
    return conditions;
}

WebhookAuthorizerOptions read_webhook(ConfigObject object) {
    ConfigProblems& problems = object.problems();
    WebhookAuthorizerOptions webhook;
    if (!object.has("timeout")) problems.required(object.path_of("timeout"));
    webhook.timeout = object.duration("timeout", LongestTimeout);
    if (webhook.timeout <= Duration::zero() || webhook.timeout > LongestTimeout)
        problems.add(object.path_of("timeout"), "Invalid value: must be > 0s and <= 30s");
    webhook.authorized_ttl = read_ttl(object, "authorizedTTL", "cacheAuthorizedRequests", 5min);
    webhook.unauthorized_ttl = read_ttl(object, "unauthorizedTTL", "cacheUnauthorizedRequests", 30s);
    webhook.version = object.text("subjectAccessReviewVersion");
    check_choice(object, "subjectAccessReviewVersion", webhook.version, {"v1", "v1beta1"});
    const std::string policy = object.text("failurePolicy");
    check_choice(object, "failurePolicy", policy, {"Deny", "NoOpinion"});
    webhook.deny_on_failure = policy != "NoOpinion";
    webhook.match_conditions = read_match_conditions(object);
    ConfigObject connection = object.object("connectionInfo");
    // InClusterConfig is for an API server that runs as a pod of another cluster.
    check_choice(connection, "type", connection.text("type"), {"KubeConfigFile"});
    webhook.kubeconfig = connection.text("kubeConfigFile");
    if (webhook.kubeconfig.empty()) {
        problems.required(connection.path_of("kubeConfigFile"));
    } else if (!webhook.kubeconfig.starts_with('/')) {
        problems.invalid(connection.path_of("kubeConfigFile"), webhook.kubeconfig, "must be an absolute path");
    }
    connection.finish();
    object.finish();
    return webhook;
}

}  // namespace

Result<Type> parse_authorizer_type(std::string_view name) {
    const auto found = std::ranges::find(TypeNames, name, &TypeName::name);
    if (found != std::end(TypeNames)) return found->type;
    return Error(Reason::BadRequest, quote(name) + " is not a valid mode" + (name == "ABAC" ? " of this server" : ""));
}

Result<std::vector<AuthorizerOptions>> parse_authorization_config(std::string_view text, std::string_view source) {
    TRY(const schema::Value document,
        parse_config(text, source, {"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1"}, "AuthorizationConfiguration"));
    ConfigProblems problems;
    ConfigObject root(document, "", problems);
    std::vector<AuthorizerOptions> authorizers;
    std::set<std::string> names, types;
    for (ConfigObject& entry : root.objects("authorizers")) {
        AuthorizerOptions authorizer;
        const std::string type = entry.text("type"), name = entry.text("name");
        if (type.empty()) {
            problems.required(entry.path_of("type"));
        } else if (const auto parsed = parse_authorizer_type(type)) {
            authorizer.type = *parsed;
        } else {
            problems.add(entry.path_of("type"), parsed.error().message);
        }
        if (type != "Webhook" && !type.empty() && !types.insert(type).second)
            problems.add(entry.path_of("type"), "Duplicate value: " + quote(type));
        if (name.empty()) {
            problems.required(entry.path_of("name"));
        } else if (!names::is_dns1123_subdomain(name)) {
            problems.invalid(entry.path_of("name"), name, "authorizer name is invalid");
        } else if (!names.insert(name).second) {
            problems.add(entry.path_of("name"), "Duplicate value: " + quote(name));
        }
        if (type == "Webhook") {
            authorizer.webhook = read_webhook(entry.object("webhook"));
            authorizer.webhook.name = name;
        } else if (entry.has("webhook")) {
            problems.add(entry.path_of("webhook"), "may only be specified when type=Webhook");
        }
        entry.finish();
        authorizers.push_back(std::move(authorizer));
    }
    if (authorizers.empty()) problems.required("authorizers", "at least one authorization mode must be defined");
    root.finish();
    TRY_VOID(problems.outcome(source));
    return authorizers;
}

Result<std::vector<AuthorizerOptions>> authorizers_of_modes(const std::vector<std::string>& modes,
                                                            const WebhookAuthorizerOptions& webhook) {
    const auto refused = [](const std::string& why) { return Error(Reason::BadRequest, why); };
    if (modes.empty()) return refused("at least one authorization-mode must be passed");
    std::vector<AuthorizerOptions> authorizers;
    std::set<std::string> seen;
    for (const std::string& mode : modes) {
        const auto type = parse_authorizer_type(mode);
        if (!type) return refused("authorization-mode " + type.error().message);
        if (!seen.insert(mode).second) return refused("authorization-mode " + quote(mode) + " has mode specified more than once");
        authorizers.push_back({*type, *type == Type::Webhook ? webhook : WebhookAuthorizerOptions()});
    }
    if (seen.contains("Webhook") && webhook.kubeconfig.empty())
        return refused("authorization-mode Webhook's authorization config file not passed");
    if (!seen.contains("Webhook") && !webhook.kubeconfig.empty())
        return refused("cannot specify --authorization-webhook-config-file without mode Webhook");
    if (webhook.version != "v1" && webhook.version != "v1beta1")
        return refused("authorization-webhook-version " + quote(webhook.version) + " is neither v1 nor v1beta1");
    return authorizers;
}

}  // namespace porthole::apiserver
