#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"

namespace porthole::windows {

namespace core = api::core::v1;

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
std::span<const Rule> rules();

/// Which systems the nodes of a cluster run.
struct Systems {
    bool linux = false, windows = false;
};

/// The system that a pod asks for by spec.os.name, its selector or its required affinity; "" when it asks for none.
std::string_view system_asked_for(const core::PodSpec& spec);

// The API server. `path` is where the spec stands: "spec" or "spec.template.spec".
std::vector<std::string> warnings(const core::PodSpec& spec, std::string_view path, Systems systems);
std::vector<std::string> warnings(const core::Service& service, Systems systems);

// The kubelet on Windows.
struct Notice {
    std::string reason, message;
};
/// Why the pod cannot run on Windows at all.
std::optional<Notice> pod_refusal(const core::PodSpec& spec);
/// Why this container of it cannot; "" when it can.
std::string container_refusal(const core::Container& container);
/// What to tell of the pod in events: one a reason, naming every field it concerns.
std::vector<Notice> notices(const core::PodSpec& spec);
bool has_ignored_fields(const core::PodSpec& spec);
/// Makes the spec what Windows takes it for.
void drop_ignored_fields(core::PodSpec& spec);

/// The table as a page of the user guide, in Markdown.
std::string support_table();

}  // namespace porthole::windows
