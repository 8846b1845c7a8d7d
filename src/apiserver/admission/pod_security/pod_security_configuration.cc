#include "apiserver/admission/pod_security/pod_security_configuration.h"

#include <set>

#include "apiserver/outgoing/config_object.h"
#include "apiserver/validation/names.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view Group = "pod-security.admission.config.k8s.io/";

bool is_served(std::string_view api_version) {
    if (!api_version.starts_with(Group)) return false;
    api_version.remove_prefix(Group.size());
    return api_version == "v1" || api_version == "v1beta1" || api_version == "v1alpha1";
}

/// "enforce" and "enforce-version"; what is missing or empty is privileged and latest.
PodSecurityPolicy parse_policy(ConfigObject& defaults, const std::string& mode) {
    PodSecurityPolicy policy;
    const std::string version_field = mode + "-version", level = defaults.text(mode), version = defaults.text(version_field);
    if (!level.empty()) {
        const auto parsed = parse_pod_security_level(level);
        if (!parsed) defaults.problems().invalid(defaults.path_of(mode), level, "must be one of privileged, baseline, restricted");
        policy.level = parsed.value_or(PodSecurityLevel::Restricted);
    }
    if (!version.empty()) {
        const auto parsed = parse_pod_security_version(version);
        if (!parsed) defaults.problems().invalid(defaults.path_of(version_field), version, R"(must be "latest" or "v1.x")");
        policy.minor = parsed.value_or(PodSecurityPolicy::Latest);
    }
    return policy;
}

/// Names that come once, each of which `check` has nothing to say about.
template <class Check>
std::vector<std::string> parse_names(ConfigObject& exemptions, std::string_view field, Check check) {
    std::vector<std::string> names = exemptions.texts(field);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string path = exemptions.path_of(field) + "[" + std::to_string(i) + "]";
        for (const std::string& problem : check(names[i])) exemptions.problems().invalid(path, names[i], problem);
        if (!seen.insert(names[i]).second) exemptions.problems().add(path, "Duplicate value: " + quote(names[i]));
    }
    return names;
}

std::vector<std::string> check_user(const std::string& name) {
    return name.empty() ? std::vector<std::string>{"username must not be empty"} : std::vector<std::string>();
}

}  // namespace

Result<PodSecurityConfiguration> PodSecurityConfiguration::parse(const schema::Value& configuration) {
    if (configuration.is_null()) return PodSecurityConfiguration();
    ConfigProblems problems;
    ConfigObject root(configuration, "", problems);
    if (!is_served(root.text("apiVersion")) || root.text("kind") != "PodSecurityConfiguration")
        problems.add("", "must be of apiVersion " + std::string(Group) + "v1 and kind PodSecurityConfiguration");
    PodSecurityConfiguration parsed;
    ConfigObject defaults = root.object("defaults");
    parsed.defaults = {parse_policy(defaults, "enforce"), parse_policy(defaults, "audit"), parse_policy(defaults, "warn")};
    defaults.finish();
    ConfigObject exemptions = root.object("exemptions");
    parsed.exempt_users = parse_names(exemptions, "usernames", check_user);
    parsed.exempt_namespaces = parse_names(exemptions, "namespaces", names::check_dns1123_label);
    parsed.exempt_runtime_classes = parse_names(exemptions, "runtimeClasses", names::check_dns1123_subdomain);
    exemptions.finish();
    root.finish();
    TRY_VOID(problems.outcome("configuration"));
    return parsed;
}

}  // namespace porthole::apiserver
