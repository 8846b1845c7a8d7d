#include <algorithm>
#include <set>

#include "api/admissionregistration_v1.h"
#include "apiserver/kinds/admissionregistration/admission_rules.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/webhook_client.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;
using Strings = std::vector<std::string>;

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
}

/// Conditions that an update leaves as they are may be such that they would be refused now.
template <class Configuration>
bool same_conditions(const Configuration& object, const Configuration& old) {
    return std::ranges::equal(object.webhooks, old.webhooks,
                              [](const auto& one, const auto& other) { return one.match_conditions == other.match_conditions; });
}

template <class Configuration>
void validate_conditions(const Configuration& object, FieldErrors& errors) {
    for (std::size_t i = 0; i < object.webhooks.size(); ++i) {
        validate_match_conditions(object.webhooks[i].match_conditions, {}, FieldPath("webhooks").index(i) / "matchConditions", errors);
    }
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

template <class Configuration>
void validate_new(const Configuration& object, FieldErrors& errors) {
    validate(object, errors);
    validate_conditions(object, errors);
}

template <class Configuration>
void validate_change(const Configuration& object, const Configuration& old, FieldErrors& errors) {
    validate(object, errors);
    if (!same_conditions(object, old)) validate_conditions(object, errors);
}

template <class Configuration>
Strategy strategy_of(void (*set_defaults)(Configuration&)) {
    Strategy strategy = strategy_for<Configuration>(
        {.set_defaults = set_defaults, .validate = validate_new<Configuration>, .validate_update = validate_change<Configuration>});
    strategy.generation = Generation::OnChangeOutsideMetadata;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace

Strategy mutating_webhook_configuration_strategy() { return strategy_of<MutatingWebhookConfiguration>(default_mutating); }
Strategy validating_webhook_configuration_strategy() { return strategy_of<ValidatingWebhookConfiguration>(default_validating); }

}  // namespace porthole::apiserver
