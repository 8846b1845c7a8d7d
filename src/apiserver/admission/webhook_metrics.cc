#include "apiserver/admission/webhook_metrics.h"

#include <cstdio>

namespace porthole::apiserver {
namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

void append_head(std::string& out, const std::string& name, const char* help, const char* type) {
    out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

}  // namespace

void AdmissionWebhookMetrics::add(WebhookCall call) {
    // Names are DNS names, so that labels need no escapes.
    if (!names_.contains(call.name)) {
        if (names_.size() >= MostNames)
            call.name.clear();
        else
            names_[call.name] = true;
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
    Durations& durations = durations_[name + operation + rejected + type];
    const double seconds = std::chrono::duration<double>(call.taken).count();
    for (std::size_t i = 0; i < Buckets.size(); ++i)
        if (seconds <= Buckets[i]) ++durations.counts[i];
    ++durations.count;
    durations.sum += seconds;
}

void AdmissionWebhookMetrics::append(std::string& out) const {
    const auto counter = [&](const std::string& name, const char* help, const Counts& counts) {
        append_head(out, name, help, "counter");
        for (const auto& [labels, count] : counts) out += name + "{" + labels + "} " + std::to_string(count) + '\n';
    };
    counter("apiserver_admission_webhook_request_total", "Calls of admission webhooks by their answers.", requests_);
    counter("apiserver_admission_webhook_rejection_count", "Requests that an admission webhook rejected, or whose call failed.",
            rejections_);
    counter("apiserver_admission_webhook_fail_open_count", "Calls that failed without rejecting the request.", failed_open_);
    const std::string name = "apiserver_admission_webhook_admission_duration_seconds";
    append_head(out, name, "Time of calls of admission webhooks.", "histogram");
    for (const auto& [labels, durations] : durations_) {
        for (std::size_t i = 0; i < Buckets.size(); ++i)
            out += name + "_bucket{" + labels + ",le=\"" + number(Buckets[i]) + "\"} " + std::to_string(durations.counts[i]) + '\n';
        out += name + "_bucket{" + labels + ",le=\"+Inf\"} " + std::to_string(durations.count) + '\n';
        out += name + "_sum{" + labels + "} " + number(durations.sum) + '\n';
        out += name + "_count{" + labels + "} " + std::to_string(durations.count) + '\n';
    }
}

}  // namespace porthole::apiserver
