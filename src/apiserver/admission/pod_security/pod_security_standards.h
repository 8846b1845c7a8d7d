#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"

namespace porthole::apiserver {

enum class PodSecurityLevel : std::uint8_t { Privileged, Baseline, Restricted };

/// "privileged", "baseline", "restricted".
std::string_view text_of(PodSecurityLevel level);

/// A level of the Pod Security Standards as it was in one release: the rules grow.
struct PodSecurityPolicy {
    static constexpr int Latest = 1'000'000;
    PodSecurityLevel level = PodSecurityLevel::Privileged;
    int minor = Latest;  ///< of version 1

    /// "restricted:latest", "baseline:v1.24".
    std::string text() const;
};

/// The reverse of text_of().
std::optional<PodSecurityLevel> parse_pod_security_level(std::string_view text);
/// "latest", "v1.24".
std::optional<int> parse_pod_security_version(std::string_view text);

/// One rule that a pod breaks.
struct PodSecurityViolation {
    std::string reason, detail;  ///< as in "privileged (container "a" must not set securityContext.privileged=true)"
};

/// A pod's violations of the policy: the baseline's first, each group in order of name. Source: the Pod Security Standards of Kubernetes'
/// documentation; Windows pods are exempt from rules about features that Windows does not have (KEP-2802).
std::vector<PodSecurityViolation> pod_security_violations(const PodSecurityPolicy& policy, const api::meta::v1::ObjectMeta& metadata,
                                                          const api::core::v1::PodSpec& spec);

}  // namespace porthole::apiserver
