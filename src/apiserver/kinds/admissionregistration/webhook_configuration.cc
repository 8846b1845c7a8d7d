#include <algorithm>
#include <set>

#include "api/admissionregistration_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/webhook_client.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;
using Strings = std::vector<std::string>;

constexpr std::size_t ConditionLimit = 64;

bool holds(const Strings& list, std::string_view value) { return std::ranges::find(list, value) != list.end(); }

// --- Defaults ---

template <class Webhook>
void default_webhook(Webhook& webhook) {
    if (!webhook.failure_policy) webhook.failure_policy = "Fail";
    if (!webhook.match_policy) webhook.match_policy = "Equivalent";
    if (!webhook.namespace_selector) webhook.namespace_selector.emplace();
    if (!webhook.object_selector) webhook.object_selector.emplace();
    if (!webhook.timeout_seconds) webhook.timeout_seconds = 10;
    if (webhook.client_config.service && !webhook.client_config.service->port) webhook.client_config.service->port = 443;
    for (RuleWithOperations& rule : webhook.rules)
        if (!rule.scope) rule.scope = "*";
}

void default_mutating(MutatingWebhookConfiguration& object) {
    for (MutatingWebhook& webhook : object.webhooks) {
        default_webhook(webhook);
        if (!webhook.reinvocation_policy) webhook.reinvocation_policy = "Never";
    }
}

void default_validating(ValidatingWebhookConfiguration& object) {
    for (ValidatingWebhook& webhook : object.webhooks) default_webhook(webhook);
}

// --- Rules ---

/// "*" says it all and stands alone.
void check_star(const Strings& list, std::string_view star, std::string_view detail, const FieldPath& path, FieldErrors& errors) {
    if (list.size() > 1 && holds(list, star)) errors.invalid(path, list_of(list), detail);
}

void check_filled(const Strings& list, const FieldPath& path, FieldErrors& errors) {
    if (list.empty()) return errors.required(path);
    for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].empty()) errors.required(path.index(i));
}

void validate_resources(const Strings& resources, const FieldPath& path, FieldErrors& errors) {
    if (resources.empty()) return errors.required(path);
    std::set<std::string> whole, all_of;  // "pods/*" names all subresources of pods
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (resources[i].empty()) errors.required(path.index(i));
        const std::size_t slash = resources[i].find('/');
        if (slash == std::string::npos)
            whole.insert(resources[i]);
        else if (resources[i].substr(slash) == "/*")
            all_of.insert(resources[i].substr(0, slash));
    }
    if (resources.size() > 1 && holds(resources, "*/*"))
        errors.invalid(path, list_of(resources), "if '*/*' is present, must not specify other resources");
    for (std::size_t i = 0; i < resources.size(); ++i) {
        const std::size_t slash = resources[i].find('/');
        if (slash == std::string::npos) {
            if (resources[i] != "*" && whole.contains("*"))
                errors.invalid(path, list_of(resources), "if '*' is present, must not specify other resources without subresources");
        } else if (resources[i].substr(slash) != "/*" && all_of.contains(resources[i].substr(0, slash))) {
            errors.invalid(path.index(i), resources[i],
                           "if '" + resources[i].substr(0, slash) + "/*' is present, must not specify " + resources[i]);
        }
    }
}

void validate_rule(const RuleWithOperations& rule, const FieldPath& path, FieldErrors& errors) {
    if (rule.operations.empty()) errors.required(path / "operations");
    check_star(rule.operations, "*", "if '*' is present, must not specify other operations", path / "operations", errors);
    for (std::size_t i = 0; i < rule.operations.size(); ++i)
        check_choice(rule.operations[i], {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, (path / "operations").index(i), errors);
    if (rule.api_groups.empty()) errors.required(path / "apiGroups");
    check_star(rule.api_groups, "*", "if '*' is present, must not specify other API groups", path / "apiGroups", errors);
    check_filled(rule.api_versions, path / "apiVersions", errors);
    check_star(rule.api_versions, "*", "if '*' is present, must not specify other API versions", path / "apiVersions", errors);
    validate_resources(rule.resources, path / "resources", errors);
    check_choice(rule.scope, {"*", "Cluster", "Namespaced"}, path / "scope", errors);
}

// --- Webhooks ---

/// At least three segments: "a.example.com".
void check_webhook_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    if (!check_required(name, path, errors)) return;
    invalid_all(errors, path, name, names::check_dns1123_subdomain(name));
    check(std::ranges::count(name, '.') >= 2, name, "should be a domain with at least three segments separated by dots", path, errors);
}

void validate_review_versions(const Strings& versions, const FieldPath& path, FieldErrors& errors) {
    if (versions.empty()) return errors.required(path, "must specify one of v1, v1beta1");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        check(seen.insert(versions[i]).second, versions[i], "duplicate version", path.index(i), errors);
        invalid_all(errors, path.index(i), versions[i], names::check_dns1035_label(versions[i]));
    }
    check(seen.contains("v1") || seen.contains("v1beta1"), list_of(versions), "must include at least one of v1, v1beta1", path, errors);
}

void validate_conditions(const std::vector<MatchCondition>& conditions, const FieldPath& path, FieldErrors& errors) {
    if (conditions.size() > ConditionLimit) errors.too_many(path, conditions.size(), ConditionLimit);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        const FieldPath at = path.index(i);
        if (conditions[i].expression.find_first_not_of(" \t\n\r") == std::string::npos) errors.required(at / "expression");
        if (!check_required(conditions[i].name, at / "name", errors)) continue;
        if (!seen.insert(conditions[i].name).second) errors.duplicate(at / "name", conditions[i].name);
        invalid_all(errors, at / "name", conditions[i].name, names::check_qualified_name(conditions[i].name));
    }
}

template <class Webhook>
void validate_webhook(const Webhook& webhook, const FieldPath& path, FieldErrors& errors) {
    check_webhook_name(webhook.name, path / "name", errors);
    for (std::size_t i = 0; i < webhook.rules.size(); ++i) validate_rule(webhook.rules[i], (path / "rules").index(i), errors);
    check_choice(webhook.failure_policy, {"Fail", "Ignore"}, path / "failurePolicy", errors);
    check_choice(webhook.match_policy, {"Equivalent", "Exact"}, path / "matchPolicy", errors);
    if (!webhook.side_effects) errors.required(path / "sideEffects", "must specify one of None, NoneOnDryRun");
    check_choice(webhook.side_effects, {"None", "NoneOnDryRun"}, path / "sideEffects", errors);
    if (webhook.timeout_seconds)
        check(*webhook.timeout_seconds >= 1 && *webhook.timeout_seconds <= 30, *webhook.timeout_seconds,
              "the timeout value must be between 1 and 30 seconds", path / "timeoutSeconds", errors);
    if (webhook.namespace_selector) validate_label_selector(*webhook.namespace_selector, path / "namespaceSelector", errors);
    if (webhook.object_selector) validate_label_selector(*webhook.object_selector, path / "objectSelector", errors);
    validate_webhook_client(webhook.client_config, path / "clientConfig", errors);
    validate_review_versions(webhook.admission_review_versions, path / "admissionReviewVersions", errors);
    validate_conditions(webhook.match_conditions, path / "matchConditions", errors);
}

template <class Configuration>
void validate(const Configuration& object, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < object.webhooks.size(); ++i) {
        const FieldPath path = FieldPath("webhooks").index(i);
        validate_webhook(object.webhooks[i], path, errors);
        if constexpr (requires { object.webhooks[i].reinvocation_policy; })
            check_choice(object.webhooks[i].reinvocation_policy, {"IfNeeded", "Never"}, path / "reinvocationPolicy", errors);
        if (!seen.insert(object.webhooks[i].name).second) errors.duplicate(path / "name", object.webhooks[i].name);
    }
}

/// Without an evaluator of CEL the webhook is called for more than its conditions select: never for less, as it may be there to refuse.
template <class Configuration>
void warn(const Configuration& object, const Configuration*, std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < object.webhooks.size(); ++i) {
        if (object.webhooks[i].match_conditions.empty()) continue;
        warnings.push_back("webhooks[" + std::to_string(i) +
                           "].matchConditions: not evaluated by this server; the webhook is called for all requests that its rules and "
                           "selectors match");
    }
}

template <class Configuration>
Strategy strategy_of(void (*set_defaults)(Configuration&)) {
    Strategy strategy =
        strategy_for<Configuration>({.set_defaults = set_defaults, .validate = validate<Configuration>, .warn = warn<Configuration>});
    strategy.generation = Generation::OnChangeOutsideMetadata;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace

Strategy mutating_webhook_configuration_strategy() { return strategy_of<MutatingWebhookConfiguration>(default_mutating); }
Strategy validating_webhook_configuration_strategy() { return strategy_of<ValidatingWebhookConfiguration>(default_validating); }

}  // namespace porthole::apiserver
