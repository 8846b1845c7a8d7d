#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows {

/// Every line of the table.
std::span<const Rule> rules();

// The API server. `path` is where the spec is: "spec" or "spec.template.spec".
std::vector<std::string> warnings(const core::PodSpec& spec, std::string_view path, Systems systems);
std::vector<std::string> warnings(const core::Service& service, Systems systems);

// The kubelet on Windows.
/// The reason and message of an event or refusal.
struct Notice {
    std::string reason, message;
};
/// What the table says of a pod. Empty for one that Windows runs as it is.
struct Verdict {
    std::optional<Notice> refusal;           ///< why the pod cannot run on Windows at all
    std::vector<Notice> notices;             ///< for events: one for each reason, naming every field it concerns
    std::optional<core::PodSpec> effective;  ///< the spec without the fields that Windows ignores; nothing where it sets none

    static Verdict of(const core::PodSpec& spec);
};
/// Why a container of a pod that runs cannot; "" when it can.
std::string container_refusal(const core::Container& container);

/// The table as a page of the user guide, in Markdown.
std::string support_table();

}  // namespace porthole::windows
