#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/pod_security/pod_security_standards.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The policies for refusing, auditing and warning.
struct PodSecurityPolicies {
    PodSecurityPolicy enforce, audit, warn;
};

/// How the plugin PodSecurity is set: upstream's PodSecurityConfiguration (pod-security.admission.config.k8s.io). A plain value.
struct PodSecurityConfiguration {
    PodSecurityPolicies defaults;  ///< of a namespace without labels for it
    std::vector<std::string> exempt_users, exempt_namespaces, exempt_runtime_classes;

    static constexpr std::string_view Plugin = "PodSecurity";
    /// Of null: privileged everywhere. Error: BadRequest with everything that is wrong.
    static Result<PodSecurityConfiguration> parse(const schema::Value& configuration);
};

}  // namespace porthole::apiserver
