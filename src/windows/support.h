#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows {

/// Annotations of a pod or of its template.
using Annotations = std::map<std::string, std::string>;

/// Every line of the table.
std::span<const Rule> rules();
/// nullptr if no line has that code.
const Rule* find_rule(std::string_view code);
/// "refused", "ignored", "advice", "reproduced".
std::string_view text_of(Outcome outcome);

/// A rule that an object falls under, and where.
struct Finding {
    const Rule* rule;
    std::string field;  ///< "spec.containers[0].securityContext.privileged"; keys of maps are in brackets too
    bool on_every_system = false;
};
/// All findings of the table for a pod that runs on Windows. `path` is that of the spec: "spec" or "spec.template.spec".
std::vector<Finding> find(const core::PodSpec& spec, const Annotations& annotations, std::string_view path,
                          const Conditions& conditions = {});
std::vector<Finding> find(const core::Service& service, const Conditions& conditions);
/// The table's findings about the pod's placement.
std::vector<Finding> find_placement(const core::PodSpec& spec, std::string_view path, Systems systems);

// The API server.
std::vector<std::string> warnings(const core::PodSpec& spec, std::string_view path, Systems systems, const Annotations& annotations = {});
std::vector<std::string> warnings(const core::Service& service, Systems systems);

// The scheduler.
/// Why the existing nodes do not accept the pod, and what to write instead, one text per rule; empty if the table has no reason.
std::vector<std::string> pending_reasons(const core::PodSpec& spec, const Annotations& annotations, const NodeSummary& nodes);

// The kubelet on Windows.
/// Its feature gates that are on.
using Gates = std::set<std::string, std::less<>>;
/// The reason and message of an event or refusal.
struct Notice {
    std::string reason, message;
};
/// The table's findings for a pod. Empty if Windows runs it unchanged.
struct Verdict {
    std::optional<Notice> refusal;           ///< why the pod cannot run on Windows at all
    std::vector<Notice> notices;             ///< for events: one for each reason, naming every field it concerns
    std::optional<core::PodSpec> effective;  ///< the spec without the fields that Windows ignores; nullopt if it sets none

    static Verdict of(const core::PodSpec& spec, const Annotations& annotations = {}, const Gates& gates = {},
                      const Conditions& conditions = {});
};
/// Why a container of a pod that runs cannot; "" if it can.
std::string container_refusal(const core::Container& container, const Gates& gates = {});
/// Why a volume of a pod that runs cannot be mounted; "" if it can.
std::string volume_refusal(const core::Volume& volume);

/// The table as a page of the user guide, in Markdown.
std::string support_table();

}  // namespace porthole::windows
