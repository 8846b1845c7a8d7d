#include "apiserver/audit/auditor.h"

#include <map>

#include "base/metrics_text.h"

namespace porthole::apiserver {

AuditDecision Auditor::decide(const User* user, const RequestInfo& info, bool by_component) {
    const AuditDecision decision = policy_.decide(user, info, by_component);
    ++levels_[static_cast<std::size_t>(decision.level)];
    return decision;
}

void Auditor::record(const std::string& event) {
    ++events_;
    for (AuditBackend* backend : backends_) backend->add(event);
}

void Auditor::append_metrics(std::string& out) const {
    MetricFamily(out, "apiserver_audit_event_total", "counter", "Audit events that were handed to the back ends.").add("", events_);
    std::map<std::string_view, std::uint64_t> lost;
    for (const AuditBackend* backend : backends_)
        for (const AuditBackend::Lost& one : backend->lost()) lost[one.plugin] += one.events;
    const MetricFamily errors(out, "apiserver_audit_error_total", "counter", "Audit events that were lost, by what lost them.");
    for (const auto& [plugin, events] : lost) errors.add(metric_label("plugin", plugin), events);
    const MetricFamily levels(out, "apiserver_audit_level_total", "counter", "Requests by the level that the policy gives them.");
    for (std::size_t i = 0; i < levels_.size(); ++i) levels.add(metric_label("level", to_string(AuditLevel(i))), levels_[i]);
    // Back ends lose events rather than refuse requests, so this never grows; alerts of clusters elsewhere ask for it.
    MetricFamily(out, "apiserver_audit_requests_rejected_total", "counter", "Requests refused because they could not be recorded.")
        .add("", 0);
}

}  // namespace porthole::apiserver
