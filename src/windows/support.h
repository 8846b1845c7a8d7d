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
