#include "apiserver/admission/webhook_metrics.h"

namespace porthole::apiserver {

void AdmissionWebhookMetrics::add(WebhookCall call) {
    // Names are DNS names, so that labels need no escapes.
    if (!names_.contains(call.name)) {
        if (names_.size() >= MostNames)
            call.name.clear();
        else
            names_.insert(call.name);
    }
    const std::string name = "name=\"" + call.name + "\",";
    const std::string type = "type=\"" + call.type + "\"";
    const std::string operation = "operation=\"" + call.operation + "\",";
    const std::string rejected = std::string("rejected=\"") + (call.rejected ? "true" : "false") + "\",";
    ++requests_["code=\"" + std::to_string(call.code) + "\"," + name + operation + rejected + type];
    if (call.rejected) {
        ++rejections_["error_type=\"" + call.error_type + "\"," + name + operation + "rejection_code=\"" +
                      std::to_string(call.rejection_code) + "\"," + type];
    }
    if (call.failed_open) ++failed_open_[name + type];
    durations_.add(name + operation + rejected + type, call.taken);
}

void AdmissionWebhookMetrics::append(std::string& out) const {
    const auto counter = [&](const std::string& name, const char* help, const Counts& counts) {
        const MetricFamily family(out, name, "counter", help);
        for (const auto& [labels, count] : counts) family.add(labels, count);
    };
    counter("apiserver_admission_webhook_request_total", "Calls of admission webhooks by their answers.", requests_);
    counter("apiserver_admission_webhook_rejection_count", "Requests that an admission webhook rejected, or whose call failed.",
            rejections_);
    counter("apiserver_admission_webhook_fail_open_count", "Calls that failed without rejecting the request.", failed_open_);
    durations_.append(out, "apiserver_admission_webhook_admission_duration_seconds", "Time of calls of admission webhooks.");
}

}  // namespace porthole::apiserver
