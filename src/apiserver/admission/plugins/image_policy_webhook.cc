#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/outgoing/config_object.h"
#include "apiserver/outgoing/webhook.h"
#include "apiserver/validation/names.h"
#include "base/lru_map.h"
#include "base/result.h"
#include "base/time/time.h"
#include "net/tls/x509.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using schema::Value;

constexpr std::size_t MostAnswers = 1024;
constexpr const char* AuditPrefix = "imagepolicywebhook.image-policy.k8s.io/";
constexpr std::string_view ReviewedAnnotations = ".image-policy.k8s.io/";

struct Settings {
    std::string kubeconfig;
    Duration allow_ttl, deny_ttl, first_wait;
    bool default_allow = false;
};

/// What the server said, for as long as it is remembered.
struct Answer {
    bool allowed = false;
    std::string reason;
    std::map<std::string, std::string> audit;
    MonotonicTime until;
};

Answer to_answer(const Value& review) {
    const Value& status = schema::at(review, "status");
    Answer answer{.allowed = schema::at(status, "allowed").bool_or(false),
                  .reason = std::string(schema::at(status, "reason").string_or("")),
                  .audit = {},
                  .until = {}};
    if (const Value* audit = status.find("auditAnnotations"); audit && audit->is_object()) {
        for (const schema::Member& member : audit->as_object())
            if (member.value.is_string() && names::check_qualified_name(AuditPrefix + member.key).empty())
                answer.audit[member.key] = member.value.as_string();
    }
    return answer;
}

template <class Containers>
void add_images(Value& list, const Containers& containers) {
    for (const auto& container : containers) list.as_array().push_back(Value::object({{"image", container.image}}));
}

/// What the server is asked about. Ephemeral containers come by a subresource of their own.
Value spec_of(const AdmissionAttributes& attributes) {
    const Pod& pod = attributes.object->view<Pod>();
    Value containers = Value::array();
    if (attributes.subresource.empty()) {
        add_images(containers, pod.spec.containers);
        add_images(containers, pod.spec.init_containers);
    } else {
        add_images(containers, pod.spec.ephemeral_containers);
    }
    Value annotations = Value::object();
    for (const auto& [key, value] : pod.metadata.annotations)
        if (key.contains(ReviewedAnnotations)) annotations[key] = value;
    Value spec = Value::object({{"containers", std::move(containers)}});
    if (!annotations.as_object().empty()) spec["annotations"] = std::move(annotations);
    spec["namespace"] = attributes.namespace_;
    return spec;
}

class ImagePolicyWebhook final : public AdmissionPlugin {
public:
    ImagePolicyWebhook(std::unique_ptr<Webhook> webhook, Settings settings, const Clock& clock)
        : webhook_(std::move(webhook)), settings_(std::move(settings)), clock_(clock) {}
    std::string_view name() const override { return "ImagePolicyWebhook"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        const Value spec = spec_of(attributes);
        const std::string key = net::sha256(schema::to_json(spec));
        Answer* known = answers_.find(key);
        if (!known || clock_.now() >= known->until) {
            auto reviewed = co_await webhook_->review(
                Value::object({{"kind", "ImageReview"}, {"apiVersion", "imagepolicy.k8s.io/v1alpha1"}, {"spec", spec}}),
                attributes.user.name);
            const bool busy = !reviewed && reviewed.error().reason == Reason::TooManyRequests;
            if (busy || is_cancelled(reviewed)) co_return std::move(reviewed).error();
            if (!reviewed) co_return failed(attributes, reviewed.error());
            Answer answer = to_answer(*reviewed);
            answer.until = clock_.now() + (answer.allowed ? settings_.allow_ttl : settings_.deny_ttl);
            known = &answers_.put(key, std::move(answer));
        }
        co_return decide(attributes, *known);
    }

private:
    static bool concerns(const AdmissionAttributes& attributes) {
        if (!attributes.is("", "pods") || !attributes.object || !attributes.object->is<Pod>()) return false;
        return attributes.subresource.empty() || attributes.subresource == "ephemeralcontainers";
    }
    static Result<void> decide(const AdmissionAttributes& attributes, const Answer& answer) {
        for (const auto& [key, value] : answer.audit) attributes.audit_annotations.emplace(AuditPrefix + key, value);
        if (answer.allowed) return {};
        return admission_forbidden(attributes, answer.reason.empty()
                                                   ? "one or more images rejected by webhook backend"
                                                   : "image policy webhook backend denied one or more images: " + answer.reason);
    }
    Result<void> failed(const AdmissionAttributes& attributes, const Error& error) const {
        if (!settings_.default_allow) return admission_forbidden(attributes, error.message);
        attributes.audit_annotations.emplace(std::string(AuditPrefix) + "failed-open", "true");
        return {};
    }

    std::unique_ptr<Webhook> webhook_;
    const Settings settings_;
    const Clock& clock_;
    LruMap<Answer> answers_{MostAnswers};  ///< by what was asked
};

/// A number of the configuration in `unit`: 0 is the default, -1 switches it off.
Duration duration_of(ConfigObject& object, const char* field, Duration unit, Duration least, Duration most, Duration fallback) {
    const std::int64_t number = object.integer(field);
    if (number == -1) return Duration::zero();
    if (number == 0) return fallback;
    const bool fits = number > 0 && number <= most / unit;
    const Duration value = fits ? number * unit : Duration::zero();
    if (!fits || value <= least)
        object.problems().add(object.path_of(field), "valid value is between " + format_duration(least) + " and " + format_duration(most) +
                                                         ", got " + std::to_string(number));
    return value;
}

Result<Settings> parse_settings(const Value& configuration) {
    ConfigProblems problems;
    ConfigObject root(configuration, "", problems);
    ConfigObject object = root.object("imagePolicy");
    Settings settings;
    settings.kubeconfig = object.text("kubeConfigFile");
    if (settings.kubeconfig.empty()) problems.required(object.path_of("kubeConfigFile"));
    settings.first_wait = duration_of(object, "retryBackoff", 1ms, 1ns, 5min, 500ms);
    settings.allow_ttl = duration_of(object, "allowTTL", 1s, 1s, 30min, 5min);
    settings.deny_ttl = duration_of(object, "denyTTL", 1s, 1s, 30min, 30s);
    settings.default_allow = object.flag("defaultAllow");
    object.finish();  // not of the root: the file without a version also holds what other plugins read
    TRY_VOID(problems.outcome("configuration"));
    return settings;
}

}  // namespace

Result<AdmissionPluginPtr> make_image_policy_webhook(const AdmissionDependencies& given) {
    const Value* configuration = given.configuration_of("ImagePolicyWebhook");
    if (!configuration) return Error(Reason::BadRequest, "no config specified");
    TRY(Settings settings, parse_settings(*configuration));
    if (!given.outgoing) return Error(Reason::BadRequest, "this server cannot connect to webhooks");
    TRY(auto client, open_by_kubeconfig(*given.outgoing, settings.kubeconfig));
    auto webhook = std::make_unique<Webhook>(std::move(client), given.loop, given.random,
                                             Webhook::Settings{.limits = {}, .first_wait = settings.first_wait});
    return std::make_unique<ImagePolicyWebhook>(std::move(webhook), std::move(settings), given.loop);
}

}  // namespace porthole::apiserver
