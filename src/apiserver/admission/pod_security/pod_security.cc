#include <algorithm>
#include <array>
#include <map>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_security/pod_security_configuration.h"
#include "apiserver/admission/pod_templates.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Labels = std::map<std::string, std::string>;
using Violations = std::vector<PodSecurityViolation>;

constexpr std::string_view Prefix = "pod-security.kubernetes.io/";
constexpr std::size_t PodsNamed = 10;  ///< in warnings about pods that are there already

std::string label_of(const Labels& labels, const std::string& mode) {
    const auto found = labels.find(std::string(Prefix) + mode);
    return found == labels.end() ? "" : found->second;
}

/// `policy` where the labels do not say otherwise. What a label that nobody understands asks for is not known: the strictest, then.
PodSecurityPolicy policy_of(const Labels& labels, const std::string& mode, PodSecurityPolicy policy) {
    if (const std::string level = label_of(labels, mode); !level.empty())
        policy.level = parse_pod_security_level(level).value_or(PodSecurityLevel::Restricted);
    if (const std::string version = label_of(labels, mode + "-version"); !version.empty())
        policy.minor = parse_pod_security_version(version).value_or(PodSecurityPolicy::Latest);
    return policy;
}

PodSecurityPolicies policies_of(const Labels& labels, const PodSecurityPolicies& defaults) {
    const auto first = labels.lower_bound(std::string(Prefix));
    if (first == labels.end() || !first->first.starts_with(Prefix)) return defaults;  // as in most namespaces
    return {policy_of(labels, "enforce", defaults.enforce), policy_of(labels, "audit", defaults.audit),
            policy_of(labels, "warn", defaults.warn)};
}

bool contains(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

std::string text_of(const Violations& violations) {
    return join(violations, ", ", [](const auto& violation) { return violation.reason + " (" + violation.detail + ")"; });
}

/// `violates PodSecurity "baseline:latest": privileged (…)`.
std::string sentence(const char* verb, const PodSecurityPolicy& policy, const Violations& violations) {
    return std::string(verb) + " PodSecurity \"" + policy.text() + "\": " + text_of(violations);
}

/// Whether anything that the standards look at has changed.
bool looks_the_same(const Pod& now, const Pod& before) {
    return now.spec.containers == before.spec.containers && now.spec.init_containers == before.spec.init_containers &&
           now.spec.ephemeral_containers == before.spec.ephemeral_containers && now.spec.security_context == before.spec.security_context &&
           now.metadata.annotations == before.metadata.annotations;
}

class PodSecurity final : public AdmissionPlugin {
public:
    PodSecurity(const ObjectReader& reader, PodSecurityConfiguration configuration)
        : reader_(reader), configuration_(std::move(configuration)) {}
    std::string_view name() const override { return PodSecurityConfiguration::Plugin; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool written = attributes.operation == AdmissionOperation::Create || attributes.operation == AdmissionOperation::Update;
        if (!written || !attributes.object || !attributes.object->is_built_in()) co_return {};
        if (attributes.is("", "namespaces")) co_return attributes.subresource.empty() ? check_namespace(attributes) : Result<void>();
        if (attributes.is("", "pods")) co_return check_pod(attributes);
        co_return check_workload(attributes);
    }

private:
    Result<PodSecurityPolicies> policies_in(const std::string& name) const {
        TRY(const auto found, reader_.find<Namespace>("", name));
        return found ? policies_of(found->metadata.labels, configuration_.defaults) : configuration_.defaults;
    }

    /// Whether the configuration leaves out such a request; the audit log is told why.
    bool is_exempt(const AdmissionAttributes& attributes, const PodSpec& spec) const {
        const char* why = contains(configuration_.exempt_namespaces, attributes.namespace_)                       ? "namespace"
                          : contains(configuration_.exempt_users, attributes.user.name)                           ? "user"
                          : contains(configuration_.exempt_runtime_classes, spec.runtime_class_name.value_or("")) ? "runtimeClass"
                                                                                                                  : nullptr;
        if (why) attributes.audit_annotations[std::string(Prefix) + "exempt"] = why;
        return why != nullptr;
    }

    Result<void> check_pod(const AdmissionAttributes& attributes) const {
        if (!attributes.subresource.empty() && attributes.subresource != "ephemeralcontainers") return {};
        const Pod& pod = attributes.object->view<Pod>();
        if (attributes.old_object && looks_the_same(pod, attributes.old_object->view<Pod>())) return {};
        if (is_exempt(attributes, pod.spec)) return {};
        TRY(const PodSecurityPolicies policies, policies_in(attributes.namespace_));
        attributes.audit_annotations[std::string(Prefix) + "enforce-policy"] = policies.enforce.text();
        const Violations forbidden = pod_security_violations(policies.enforce, pod.metadata, pod.spec);
        audit(attributes, policies.audit, pod.metadata, pod.spec);
        if (!forbidden.empty()) return admission_forbidden(attributes, sentence("violates", policies.enforce, forbidden));
        warn(attributes, policies.warn, pod.metadata, pod.spec);
        return {};
    }

    /// A workload may be made; its pods may not. That is better said now than found out in events.
    Result<void> check_workload(const AdmissionAttributes& attributes) const {
        if (!attributes.subresource.empty()) return {};
        const PodTemplateSpec* wanted = template_in(*attributes.object).pods;
        if (!wanted) return {};
        const PodTemplateSpec* before = attributes.old_object ? template_in(*attributes.old_object).pods : nullptr;
        if (before && *before == *wanted) return {};
        if (is_exempt(attributes, wanted->spec)) return {};
        TRY(const PodSecurityPolicies policies, policies_in(attributes.namespace_));
        audit(attributes, policies.audit, wanted->metadata, wanted->spec);
        warn(attributes, policies.warn, wanted->metadata, wanted->spec);
        return {};
    }

    static void audit(const AdmissionAttributes& attributes, const PodSecurityPolicy& policy, const ObjectMeta& metadata,
                      const PodSpec& spec) {
        const Violations found = pod_security_violations(policy, metadata, spec);
        if (!found.empty())
            attributes.audit_annotations[std::string(Prefix) + "audit-violations"] = sentence("would violate", policy, found);
    }

    static void warn(const AdmissionAttributes& attributes, const PodSecurityPolicy& policy, const ObjectMeta& metadata,
                     const PodSpec& spec) {
        const Violations found = pod_security_violations(policy, metadata, spec);
        if (!found.empty()) attributes.warnings.push_back(sentence("would violate", policy, found));
    }

    Result<void> check_namespace(const AdmissionAttributes& attributes) const {
        const Labels& labels = attributes.object->metadata().labels;
        const Labels* before = attributes.old_object ? &attributes.old_object->metadata().labels : nullptr;
        TRY_VOID(check_labels(attributes, labels, before));
        const PodSecurityPolicy& fallback = configuration_.defaults.enforce;
        const PodSecurityPolicy now = policy_of(labels, "enforce", fallback);
        if (!before || now.level == PodSecurityLevel::Privileged || contains(configuration_.exempt_namespaces, attributes.name)) return {};
        const PodSecurityPolicy old = policy_of(*before, "enforce", fallback);
        if (now.level == old.level && now.minor == old.minor) return {};
        return warn_of_existing_pods(attributes, now);
    }

    static Result<void> check_labels(const AdmissionAttributes& attributes, const Labels& labels, const Labels* before) {
        for (const std::string mode : {"enforce", "audit", "warn"}) {
            for (const bool version : {false, true}) {
                const std::string key = version ? mode + "-version" : mode;
                const std::string value = label_of(labels, key);
                if (value.empty() && !labels.contains(std::string(Prefix) + key)) continue;
                if (before && label_of(*before, key) == value) continue;
                if (version ? parse_pod_security_version(value).has_value() : parse_pod_security_level(value).has_value()) continue;
                return admission_forbidden(
                    attributes, "metadata.labels[" + std::string(Prefix) + key + "]: Invalid value: \"" + value + "\": " +
                                    (version ? "must be \"latest\" or \"v1.x\"" : "must be one of privileged, baseline, restricted"));
            }
        }
        return {};
    }

    /// They stay; a person who tightens a namespace wants to know of them.
    Result<void> warn_of_existing_pods(const AdmissionAttributes& attributes, const PodSecurityPolicy& policy) const {
        TRY(const auto pods, reader_.list<Pod>(attributes.name));
        std::map<std::string, std::vector<std::string>> by_reason;
        for (const auto& pod : pods) {
            const auto violations = pod_security_violations(policy, pod->metadata, pod->spec);
            const std::string reasons = join(violations, ", ", [](const auto& violation) { return violation.reason; });
            if (!reasons.empty()) by_reason[reasons].push_back(pod->metadata.name);
        }
        if (by_reason.empty()) return {};
        attributes.warnings.push_back("existing pods in namespace \"" + attributes.name +
                                      "\" violate the new PodSecurity enforce level \"" + policy.text() + '"');
        std::size_t named = 0;
        for (const auto& [reasons, names] : by_reason) {
            if (++named > PodsNamed) break;
            const std::string others =
                names.size() == 1 ? "" : " (and " + std::to_string(names.size() - 1) + " other pod" + (names.size() == 2 ? ")" : "s)");
            attributes.warnings.push_back(names.front() + others + ": " + reasons);
        }
        return {};
    }

    const ObjectReader& reader_;
    const PodSecurityConfiguration configuration_;
};

}  // namespace

Result<AdmissionPluginPtr> make_pod_security(const AdmissionDependencies& given) {
    const schema::Value* configured = given.configuration_of(std::string(PodSecurityConfiguration::Plugin));
    TRY(auto configuration, PodSecurityConfiguration::parse(configured ? *configured : schema::null_value()));
    return std::make_unique<PodSecurity>(given.reader, std::move(configuration));
}

}  // namespace porthole::apiserver
