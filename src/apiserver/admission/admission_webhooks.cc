#include <algorithm>
#include <functional>

#include "api/core_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/admission/admission_review.h"
#include "apiserver/admission/compiled_objects.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/webhook_caller.h"
#include "apiserver/admission/webhook_rules.h"
#include "apiserver/expressions/match_conditions.h"
#include "base/result.h"
#include "base/strings.h"
#include "runtime/scope.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"

/// The two plugins that ask webhooks (docs/design/admission_webhooks.md).
namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;
using schema::Value;

/// The match conditions of a configuration's webhooks, in their order.
using ConditionsOfWebhooks = std::vector<MatchConditions>;

template <class Configuration>
ConditionsOfWebhooks compile_conditions(const Configuration& configuration) {
    const AdmissionCompiler compiler;
    ConditionsOfWebhooks compiled;
    for (const auto& webhook : configuration.webhooks) compiled.push_back(compile_match_conditions(compiler, webhook.match_conditions));
    return compiled;
}

/// One webhook of a configuration, which `owner` keeps.
struct ConfiguredWebhook {
    std::shared_ptr<const void> owner;
    std::shared_ptr<const ConditionsOfWebhooks> conditions;
    std::size_t index = 0;      ///< in the configuration
    std::string configuration;  ///< its name
    std::string name;
    const WebhookClientConfig* client = nullptr;
    WebhookSelection selection;
    bool fails_open = false;
    bool has_side_effects = false;  ///< also in a dry run
    bool wants_changes = false;     ///< reinvocationPolicy IfNeeded
    std::chrono::seconds timeout{10};
    std::string review_version;

    std::string key() const { return configuration + "/" + name; }
    const MatchConditions& match_conditions() const { return (*conditions)[index]; }
};

template <class Webhook>
ConfiguredWebhook configured(std::shared_ptr<const void> owner, const std::string& configuration, const Webhook& webhook) {
    ConfiguredWebhook one{
        .owner = std::move(owner), .configuration = configuration, .name = webhook.name, .client = &webhook.client_config};
    one.selection.rules = &webhook.rules;
    if (webhook.namespace_selector) one.selection.namespace_selector = &*webhook.namespace_selector;
    if (webhook.object_selector) one.selection.object_selector = &*webhook.object_selector;
    one.selection.equivalent = webhook.match_policy.value_or("Equivalent") == "Equivalent";
    one.fails_open = webhook.failure_policy.value_or("Fail") == "Ignore";
    const std::string effects = webhook.side_effects.value_or("Unknown");
    one.has_side_effects = effects != "None" && effects != "NoneOnDryRun";
    if constexpr (requires { webhook.reinvocation_policy; })
        one.wants_changes = webhook.reinvocation_policy.value_or("Never") == "IfNeeded";
    one.timeout = std::chrono::seconds(std::clamp(webhook.timeout_seconds.value_or(10), 1, 30));
    const auto known = std::ranges::find_if(webhook.admission_review_versions,
                                            [](const std::string& version) { return version == "v1" || version == "v1beta1"; });
    if (known != webhook.admission_review_versions.end()) one.review_version = *known;
    return one;
}

template <class Configuration>
using CompiledConditions = CompiledObjects<Configuration, ConditionsOfWebhooks>;

/// In the order in which they are called: by the names of their configurations.
template <class Configuration>
std::vector<ConfiguredWebhook> webhooks_of(const ObjectMap<Configuration>& configurations, CompiledConditions<Configuration>& compiled) {
    std::vector<ConfiguredWebhook> all;
    for (const auto& [name, configuration] : configurations) {
        const auto conditions = compiled.of(name, configuration, configurations);
        for (std::size_t i = 0; i < configuration->webhooks.size(); ++i) {
            all.push_back(configured(configuration, name, configuration->webhooks[i]));
            all.back().conditions = conditions;
            all.back().index = i;
        }
    }
    return all;
}

/// What came of a call that did not fail.
struct Reviewed {
    AdmissionAnswer answer;
    std::optional<ApiObject> sent;  ///< in the version in which the webhook saw it
};

/// A webhook's part in one request.
struct Call {
    const ConfiguredWebhook& webhook;
    const schema::Kind& kind;  ///< in whose version it sees the request
    bool mutating = false;
};

Error internal_error(const std::string& what) { return Error(Reason::InternalError, "Internal error occurred: " + what); }

/// Asks webhooks one at a time, and says what their failures mean. Shared by both plugins.
class WebhookDispatcher {
public:
    explicit WebhookDispatcher(const AdmissionDependencies& given)
        : given_(given), metrics_(given.webhooks.metrics), caller_(given.outgoing, given.reader, given.random) {}

    const KindVersions* versions() const { return given_.webhooks.versions; }

    /// The version in which the webhook sees the request, or null.
    Task<const schema::Kind*> match(const ConfiguredWebhook& webhook, const AdmissionAttributes& attributes, const char* type) {
        const auto served = versions() ? versions()->served(attributes.kind) : std::vector<const schema::Kind*>{};
        CO_TRY(const schema::Kind* const kind, match_webhook(webhook.selection, attributes, served, given_.reader));
        if (!kind || webhook.match_conditions().empty()) co_return kind;
        CO_TRY(const bool meets, co_await meets_conditions(webhook, attributes, *kind, type));
        co_return meets ? kind : nullptr;
    }

    /// nullopt when the call failed and the webhook may be missed. Errors end the request.
    Task<std::optional<Reviewed>> review(Call call, const AdmissionAttributes& attributes, std::string annotation) {
        if (attributes.dry_run && call.webhook.has_side_effects)
            co_return Error(Reason::BadRequest, "admission webhook " + quote(call.webhook.name) + " does not support dry run");
        Reviewed reviewed;
        CO_TRY(reviewed.sent, co_await in_version(attributes.object, attributes, call.kind, versions()));
        CO_TRY(const std::optional<ApiObject> old, co_await in_version(attributes.old_object, attributes, call.kind, versions()));
        const AdmissionReview review{.version = call.webhook.review_version,
                                     .uid = given_.random.uuid(),
                                     .resource = call.kind,
                                     .object = reviewed.sent ? &*reviewed.sent : nullptr,
                                     .old_object = old ? &*old : nullptr};
        WebhookCall counted{.name = call.webhook.name,
                            .type = call.mutating ? "admit" : "validating",
                            .operation = std::string(operation_name(attributes.operation))};
        const MonotonicTime begun = given_.loop.now();
        CO_TRY(auto called, co_await caller_.post(*call.webhook.client, review_json(review, attributes), call.webhook.timeout));
        counted.taken = given_.loop.now() - begun;
        counted.code = std::min(called.code, 600);
        if (is_cancelled(called.outcome)) co_return std::move(called.outcome).error();
        auto answer = read(call, review, called.outcome);
        if (!answer) co_return failed(call, attributes, answer.error(), std::move(counted), annotation);
        for (std::string& warning : answer->warnings) attributes.warnings.push_back(std::move(warning));
        for (const auto& [key, value] : answer->audit_annotations) attributes.audit_annotations.insert_or_assign(key, value);
        if (!answer->allowed) {
            // A Conflict without a name means that another write came first, and would be tried again.
            if (answer->denial.reason == Reason::Conflict && answer->denial.details->name.empty())
                answer->denial.details->name = attributes.name;
            count_rejection(std::move(counted), "no_error", http_code(answer->denial.reason));
            co_return std::move(answer->denial);
        }
        count(std::move(counted));
        reviewed.answer = std::move(*answer);
        co_return std::optional<Reviewed>(std::move(reviewed));
    }

private:
    /// Conditions that cannot be evaluated count as the webhook's failure policy says. Error: Forbidden where that is Fail.
    Task<bool> meets_conditions(const ConfiguredWebhook& webhook, const AdmissionAttributes& attributes, const schema::Kind& kind,
                                const char* type) {
        CO_TRY(const VersionedRequest request, co_await VersionedRequest::make(attributes, kind, versions()));
        AdmissionEvaluation evaluation(given_, attributes.user);
        MatchConditions::Outcome outcome;
        const MonotonicTime begun = given_.loop.now();
        CO_TRY_VOID(co_await evaluation.run([&](AdmissionEvaluation::Attempt& attempt) {
            AdmissionInput input = request.input(attributes);
            input.authorizer = &attempt.authorizer;
            CostBudget budget = attempt.budget(expression_costs::MatchConditions);
            const AdmissionScope scope(input, {}, budget);
            outcome = webhook.match_conditions().evaluate(scope.activation(), budget);
            attempt.paid(budget, expression_costs::MatchConditions);
        }));
        using Kind = MatchConditions::Outcome::Kind;
        if (given_.condition_metrics) {
            given_.condition_metrics->add(
                {.name = webhook.name,
                 .kind = "webhook",
                 .type = type,
                 .operation = std::string(operation_name(attributes.operation)),
                 .taken = given_.loop.now() - begun,
                 .errors = outcome.errors,
                 .excluded = outcome.kind == Kind::Excluded || (outcome.kind == Kind::Failed && webhook.fails_open)});
        }
        if (outcome.kind == Kind::Failed && !webhook.fails_open) co_return admission_forbidden(attributes, outcome.error);
        co_return outcome.kind == Kind::Matches;
    }

    static Result<AdmissionAnswer> read(const Call& call, const AdmissionReview& review, const Result<std::string>& body) {
        if (!body) return Error(body.error()).with_context("failed to call webhook");
        auto answer = parse_admission_answer(*body, review.version, review.uid, call.mutating, call.webhook.name);
        if (!answer) return std::move(answer).error().with_context("received invalid webhook response");
        if (!answer->other_patch_type.empty())
            return Error(Reason::InternalError, "unsupported patch type " + quote(answer->other_patch_type));
        return answer;
    }

    Result<std::optional<Reviewed>> failed(const Call& call, const AdmissionAttributes& attributes, const Error& error, WebhookCall counted,
                                           const std::string& annotation) {
        if (call.webhook.fails_open) {
            counted.failed_open = true;
            count(std::move(counted));
            attributes.audit_annotations.insert_or_assign(annotation, call.webhook.name);
            return std::optional<Reviewed>();
        }
        count_rejection(std::move(counted), "calling_webhook_error", http_code(Reason::InternalError));
        return internal_error("failed calling webhook " + quote(call.webhook.name) + ": " + error.message);
    }

    void count(WebhookCall call) {
        if (metrics_) metrics_->add(std::move(call));
    }
    void count_rejection(WebhookCall call, std::string error_type, int code) {
        call.rejected = true;
        call.error_type = std::move(error_type);
        call.rejection_code = code;
        count(std::move(call));
    }

    const AdmissionDependencies given_;
    AdmissionWebhookMetrics* metrics_;
    WebhookCaller caller_;
};

class MutatingAdmissionWebhook final : public AdmissionPlugin {
public:
    explicit MutatingAdmissionWebhook(const AdmissionDependencies& given) : configurations_(given.webhooks.mutating), dispatcher_(given) {}
    std::string_view name() const override { return "MutatingAdmissionWebhook"; }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!configurations_ || configurations_->empty() || is_exempt_from_webhooks(attributes)) co_return {};
        Invocations& state = attributes.reinvocation.webhooks;
        const bool running = attributes.reinvocation.running;
        // The plugins before may have changed it since the webhooks saw it.
        if (running && attributes.object && !state.left.is_null() && !(state.left == attributes.object->tree())) state.invoke_again();
        const std::vector<ConfiguredWebhook> webhooks = webhooks_of(*configurations_, compiled_);
        for (std::size_t i = 0; i < webhooks.size(); ++i) {
            if (running && !state.again.contains(webhooks[i].key())) continue;
            CO_TRY(const schema::Kind* const kind, co_await dispatcher_.match(webhooks[i], attributes, "admit"));
            if (!kind) continue;
            CO_TRY_VOID(co_await call(webhooks[i], *kind, i, attributes));
        }
        if (attributes.object && !state.invoked.empty()) state.left = attributes.object->tree();
        co_return {};
    }

private:
    Task<> call(const ConfiguredWebhook& webhook, const schema::Kind& kind, std::size_t index, AdmissionAttributes& attributes) {
        Invocations& state = attributes.reinvocation.webhooks;
        const std::string place = "round_" + std::to_string(attributes.reinvocation.running ? 1 : 0) + "_index_" + std::to_string(index);
        CO_TRY(const auto reviewed, co_await dispatcher_.review({.webhook = webhook, .kind = kind, .mutating = true}, attributes,
                                                                "failed-open.mutation.webhook.admission.k8s.io/" + place));
        if (!reviewed) co_return {};
        CO_TRY(const bool changed, co_await apply(webhook, *reviewed, attributes));
        attributes.audit_annotations.insert_or_assign(
            "mutation.webhook.admission.k8s.io/" + place,
            schema::to_json(Value::object({{"configuration", webhook.configuration}, {"webhook", webhook.name}, {"mutated", changed}})));
        if (changed) {
            attributes.reinvocation.changed = true;
            state.invoke_again();
        }
        if (webhook.wants_changes) state.invoked.insert(webhook.key());
        co_return {};
    }

    /// Whether the patch changed the object.
    Task<bool> apply(const ConfiguredWebhook& webhook, const Reviewed& reviewed, AdmissionAttributes& attributes) const {
        if (reviewed.answer.patch.is_null()) co_return false;
        if (!attributes.object || !reviewed.sent)
            co_return internal_error("admission webhook " + quote(webhook.name) +
                                     " attempted to modify the object, which is not supported for this operation");
        const schema::Kind& kind = reviewed.sent->kind();
        auto patched = schema::apply_json_patch(reviewed.sent->tree(), reviewed.answer.patch);
        if (!patched) co_return internal_error(patched.error().message);
        if (patched->string_at({"apiVersion"}) != kind.api_version() || patched->string_at({"kind"}) != kind.kind)
            co_return internal_error("admission webhook " + quote(webhook.name) + " attempted to change the kind of the object");
        auto conformed = schema::conform_object(kind, std::move(*patched), {}, schema::FieldValidation::Ignore);
        if (!conformed) co_return internal_error(conformed.error().message);
        ApiObject object(kind, std::move(conformed->value));
        if (const KindVersions* versions = dispatcher_.versions(); versions && &attributes.object->kind() == &attributes.kind) {
            CO_TRY(object, co_await versions->convert(std::move(object), attributes.kind));
            versions->set_defaults(object);
        }
        if (object.tree() == attributes.object->tree()) co_return false;
        *attributes.object = std::move(object);
        co_return true;
    }

    const ObjectMap<MutatingWebhookConfiguration>* configurations_;
    CompiledConditions<MutatingWebhookConfiguration> compiled_{compile_conditions};
    WebhookDispatcher dispatcher_;
};

class ValidatingAdmissionWebhook final : public AdmissionPlugin {
public:
    explicit ValidatingAdmissionWebhook(const AdmissionDependencies& given)
        : configurations_(given.webhooks.validating), dispatcher_(given) {}
    std::string_view name() const override { return "ValidatingAdmissionWebhook"; }

    /// All at a time. Of several refusals the client is told the first, by the order of the configurations.
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!configurations_ || configurations_->empty() || is_exempt_from_webhooks(attributes)) co_return {};
        const std::vector<ConfiguredWebhook> webhooks = webhooks_of(*configurations_, compiled_);
        std::vector<Task<>> calls;
        for (std::size_t i = 0; i < webhooks.size(); ++i) {
            CO_TRY(const schema::Kind* const kind, co_await dispatcher_.match(webhooks[i], attributes, "validating"));
            if (kind) calls.push_back(call(webhooks[i], *kind, i, attributes));
        }
        if (calls.empty()) co_return {};
        CO_TRY(auto outcomes, co_await when_all(std::move(calls)));
        for (auto& outcome : outcomes) CO_TRY_VOID(std::move(outcome));
        co_return {};
    }

private:
    Task<> call(const ConfiguredWebhook& webhook, const schema::Kind& kind, std::size_t index, const AdmissionAttributes& attributes) {
        CO_TRY_VOID(co_await dispatcher_.review({.webhook = webhook, .kind = kind}, attributes,
                                                "failed-open.validating.webhook.admission.k8s.io/round_0_index_" + std::to_string(index)));
        co_return {};
    }

    const ObjectMap<ValidatingWebhookConfiguration>* configurations_;
    CompiledConditions<ValidatingWebhookConfiguration> compiled_{compile_conditions};
    WebhookDispatcher dispatcher_;
};

}  // namespace

AdmissionPluginPtr make_mutating_admission_webhook(const AdmissionDependencies& given) {
    return std::make_unique<MutatingAdmissionWebhook>(given);
}

AdmissionPluginPtr make_validating_admission_webhook(const AdmissionDependencies& given) {
    return std::make_unique<ValidatingAdmissionWebhook>(given);
}

}  // namespace porthole::apiserver
