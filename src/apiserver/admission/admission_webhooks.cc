#include <algorithm>
#include <functional>

#include "api/core_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/admission/admission_review.h"
#include "apiserver/admission/compiled_objects.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/versioned_requests.h"
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

/// A webhook's part in one request.
struct Call {
    const ConfiguredWebhook& webhook;
    const VersionedRequest& seen;
    bool mutating = false;
};

Error internal_error(const std::string& what) { return Error(Reason::InternalError, "Internal error occurred: " + what); }

/// Asks webhooks one at a time, and says what their failures mean. Shared by both plugins.
class WebhookDispatcher {
public:
    explicit WebhookDispatcher(const AdmissionDependencies& given)
        : given_(given), metrics_(given.webhooks.metrics), caller_(given.outgoing, given.reader, given.random) {}

    const KindVersions* versions() const { return given_.webhooks.versions; }

    /// One request on its way through the webhooks of a plugin. The attributes outlive it.
    struct Passage {
        Passage(const WebhookDispatcher& dispatcher, const AdmissionAttributes& given)
            : attributes(given), requests(given, dispatcher.versions()), evaluation(dispatcher.given_, given) {}

        const AdmissionAttributes& attributes;
        VersionedRequests requests;
        AdmissionEvaluation evaluation;
    };

    /// What the webhook sees of the request, or null. Error: Forbidden for conditions that cannot be evaluated and do not fail open.
    Task<const VersionedRequest*> match(const ConfiguredWebhook& webhook, Passage& passage, const char* type) {
        const AdmissionAttributes& attributes = passage.attributes;
        const auto served = versions() ? versions()->served(attributes.kind) : std::vector<const schema::Kind*>{};
        CO_TRY(const schema::Kind* const kind, match_webhook(webhook.selection, attributes, served, given_.reader));
        if (!kind) co_return nullptr;
        CO_TRY(const VersionedRequest* const seen, co_await passage.requests.as(*kind));
        const VersionedRequest& request = *seen;
        static const NamedExpressions no_variables;
        CO_TRY(const MatchConditions::Outcome outcome,
               co_await passage.evaluation.meet(webhook.match_conditions(), no_variables, request.input(attributes),
                                                {.name = webhook.name, .kind = "webhook", .type = type, .fails_open = webhook.fails_open}));
        using Kind = MatchConditions::Outcome::Kind;
        if (outcome.kind == Kind::Failed) co_return admission_forbidden(attributes, outcome.error);
        co_return outcome.kind == Kind::Matches ? &request : nullptr;
    }

    /// nullopt when the call failed and the webhook may be missed. Errors end the request.
    Task<std::optional<AdmissionAnswer>> review(Call call, const AdmissionAttributes& attributes, std::string annotation) {
        if (attributes.dry_run && call.webhook.has_side_effects)
            co_return Error(Reason::BadRequest, "admission webhook " + quote(call.webhook.name) + " does not support dry run");
        const VersionedRequest& seen = call.seen;
        const AdmissionReview review{.version = call.webhook.review_version,
                                     .uid = given_.random.uuid(),
                                     .resource = *seen.kind,
                                     .object = seen.object ? &*seen.object : nullptr,
                                     .old_object = seen.old_object ? &*seen.old_object : nullptr};
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
        for (const auto& [key, value] : answer->audit_annotations) attributes.audit_annotations.emplace(key, value);
        if (!answer->allowed) {
            // A Conflict without a name means that another write came first, and would be tried again.
            if (answer->denial.reason == Reason::Conflict && answer->denial.details->name.empty())
                answer->denial.details->name = attributes.name;
            count_rejection(std::move(counted), "no_error", http_code(answer->denial));
            co_return std::move(answer->denial);
        }
        count(std::move(counted));
        co_return std::optional(std::move(*answer));
    }

private:
    static Result<AdmissionAnswer> read(const Call& call, const AdmissionReview& review, const Result<std::string>& body) {
        if (!body) return Error(body.error()).with_context("failed to call webhook");
        auto answer = parse_admission_answer(*body, review.version, review.uid, call.mutating, call.webhook.name);
        if (answer && !answer->patch.is_null() && !answer->other_patch_type.empty())
            return Error(Reason::InternalError, "unsupported patch type " + quote(answer->other_patch_type));
        return answer;
    }

    Result<std::optional<AdmissionAnswer>> failed(const Call& call, const AdmissionAttributes& attributes, const Error& error,
                                                  WebhookCall counted, const std::string& annotation) {
        if (call.webhook.fails_open) {
            counted.failed_open = true;
            count(std::move(counted));
            attributes.audit_annotations.insert_or_assign(annotation, call.webhook.name);
            return std::optional<AdmissionAnswer>();
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
        WebhookDispatcher::Passage passage(dispatcher_, attributes);
        for (std::size_t i = 0; i < webhooks.size(); ++i) {
            if (running && !state.again.contains(webhooks[i].key())) continue;
            CO_TRY(const VersionedRequest* const seen, co_await dispatcher_.match(webhooks[i], passage, "admit"));
            if (!seen) continue;
            CO_TRY(const bool changed, co_await call({.webhook = webhooks[i], .seen = *seen, .mutating = true}, i, attributes));
            if (changed) passage.requests.forget();
        }
        if (attributes.object && !state.invoked.empty()) state.left = attributes.object->tree();
        co_return {};
    }

private:
    /// Whether it changed the object.
    Task<bool> call(Call call, std::size_t index, AdmissionAttributes& attributes) {
        Invocations& state = attributes.reinvocation.webhooks;
        const std::string place = "round_" + std::to_string(attributes.reinvocation.running ? 1 : 0) + "_index_" + std::to_string(index);
        const auto annotate = [&](bool changed) {
            const Value annotation =
                Value::object({{"configuration", call.webhook.configuration}, {"webhook", call.webhook.name}, {"mutated", changed}});
            attributes.audit_annotations.insert_or_assign("mutation.webhook.admission.k8s.io/" + place, schema::to_json(annotation));
        };
        annotate(false);  // also of what fails
        CO_TRY(const auto answer, co_await dispatcher_.review(call, attributes, "failed-open.mutation.webhook.admission.k8s.io/" + place));
        bool changed = false;
        if (answer) {
            CO_TRY(changed, co_await apply(call, *answer, attributes));
        }
        if (changed) {
            annotate(true);
            attributes.reinvocation.changed = true;
            state.invoke_again();
        }
        if (call.webhook.wants_changes) state.invoked.insert(call.webhook.key());
        co_return changed;
    }

    /// Whether the patch changed the object.
    Task<bool> apply(const Call& call, const AdmissionAnswer& answer, AdmissionAttributes& attributes) const {
        if (answer.patch.is_null()) co_return false;
        const std::optional<ApiObject>& sent = call.seen.object;
        if (!attributes.object || !sent)
            co_return internal_error("admission webhook " + quote(call.webhook.name) +
                                     " attempted to modify the object, which is not supported for this operation");
        const schema::Kind& kind = sent->kind();
        auto patched = schema::apply_json_patch(sent->tree(), answer.patch);
        if (!patched) co_return internal_error(patched.error().message);
        if (patched->string_at({"apiVersion"}) != kind.api_version() || patched->string_at({"kind"}) != kind.kind)
            co_return internal_error("admission webhook " + quote(call.webhook.name) + " attempted to change the kind of the object");
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
        WebhookDispatcher::Passage passage(dispatcher_, attributes);
        std::vector<Task<>> calls;
        for (const ConfiguredWebhook& webhook : webhooks) {
            CO_TRY(const VersionedRequest* const seen, co_await dispatcher_.match(webhook, passage, "validating"));
            // Upstream counts those that are called here, and all where they are called one after the other.
            if (seen) calls.push_back(call({.webhook = webhook, .seen = *seen}, calls.size(), attributes));
        }
        if (calls.empty()) co_return {};
        CO_TRY(auto outcomes, co_await when_all(std::move(calls)));
        for (auto& outcome : outcomes) CO_TRY_VOID(std::move(outcome));
        co_return {};
    }

private:
    Task<> call(Call call, std::size_t index, const AdmissionAttributes& attributes) {
        CO_TRY_VOID(co_await dispatcher_.review(call, attributes,
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
