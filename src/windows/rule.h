#pragma once
#include <cstdint>
#include <string_view>

namespace porthole::windows {

/// What becomes of a field on a Windows node.
enum class Outcome : std::uint8_t {
    Refused,  ///< the pod, or the container, is not run
    Ignored,  ///< it runs as if the field were not set
    Advised,  ///< it works, but perhaps not as meant
};

/// One line of the table.
struct Rule {
    std::string_view field;  ///< as in manifests: "spec.containers[*].securityContext.privileged"
    Outcome outcome;
    std::string_view reason;  ///< of the kubelet's event or refusal; "" when only the API speaks of it
    std::string_view words;   ///< follow the field's path: "spec.hostNetwork: <words>"
};

}  // namespace porthole::windows
