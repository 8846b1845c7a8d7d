#pragma once
#include <cstdint>
#include <string_view>

namespace porthole::windows {

/// The effect of a field on a Windows node.
enum class Outcome : std::uint8_t {
    Refused,     ///< the object, the pod or the container is refused
    Ignored,     ///< it runs as if the field were not set
    Advised,     ///< it works, but perhaps not as meant
    Reproduced,  ///< a limit of Windows itself, which emulated nodes have, too; no field sets or lifts it
};

/// How stable the behavior is, in Kubernetes' terms.
enum class Maturity : std::uint8_t { Stable, Beta, Alpha };

/// One line of the table.
struct Rule {
    std::string_view code;   ///< "WIN101": never changes its meaning and is never reused
    std::string_view field;  ///< as in manifests: "spec.containers[*].securityContext.privileged"
    Outcome outcome;
    std::string_view reason;          ///< of the event or refusal on a node; "" if nodes report nothing
    std::string_view words;           ///< after the field's path: "spec.hostNetwork: <words>"
    std::string_view remedy;          ///< what to write instead
    std::string_view since = "1.14";  ///< the version of Kubernetes from which on Windows nodes are like that
    Maturity maturity = Maturity::Stable;
    std::string_view gate = "";  ///< the kubelet's feature gate that lifts it; "" if none does
};

// Refusals with these reasons concern a container; with any other reason, the pod.
inline constexpr std::string_view OfContainer = "CreateContainerConfigError";  ///< the container waits with it
inline constexpr std::string_view OfVolume = "FailedMount";                    ///< the pod waits for the volume

}  // namespace porthole::windows
