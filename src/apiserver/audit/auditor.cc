#include "apiserver/audit/auditor.h"

#include <map>

namespace porthole::apiserver {
namespace {

void append_head(std::string& out, const std::string& name, const char* help) {
    out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" counter\n");
}

}  // namespace

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
    append_head(out, "apiserver_audit_event_total", "Audit events that were handed to the back ends.");
    out += "apiserver_audit_event_total " + std::to_string(events_) + '\n';
    std::map<std::string_view, std::uint64_t> lost;
    for (const AuditBackend* backend : backends_)
        for (const AuditBackend::Lost& one : backend->lost()) lost[one.plugin] += one.events;
    append_head(out, "apiserver_audit_error_total", "Audit events that were lost, by what lost them.");
    for (const auto& [plugin, events] : lost)
        out.append("apiserver_audit_error_total{plugin=\"").append(plugin).append("\"} ").append(std::to_string(events)).append("\n");
    append_head(out, "apiserver_audit_level_total", "Requests by the level that the policy gives them.");
    for (std::size_t i = 0; i < levels_.size(); ++i)
        out.append("apiserver_audit_level_total{level=\"")
            .append(to_string(AuditLevel(i)))
            .append("\"} ")
            .append(std::to_string(levels_[i]))
            .append("\n");
    // Back ends lose events rather than refuse requests, so this never grows; alerts of clusters elsewhere ask for it.
    append_head(out, "apiserver_audit_requests_rejected_total", "Requests refused because they could not be recorded.");
    out += "apiserver_audit_requests_rejected_total 0\n";
}

}  // namespace porthole::apiserver
