#include "apiserver/handlers/metrics.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/metrics_text.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

/// POST for create and so on, as dashboards know it.
std::string metric_verb(const RequestInfo& info) {
    constexpr std::string_view Known[] = {"get",  "list",    "watch",   "post", "put", "patch", "delete", "deletecollection",
                                          "head", "options", "connect", "trace"};
    if (info.verb == "create") return "POST";
    if (info.verb == "update") return "PUT";
    return std::ranges::find(Known, info.verb) == std::end(Known) ? "other" : to_upper(info.verb);
}

void append_label(std::string& text, std::string_view name, std::string_view value) {
    text.append(name).append("=\"");
    const auto is_escaped = [](char c) { return c == '\\' || c == '"' || c == '\n'; };
    if (std::ranges::none_of(value, is_escaped)) {
        text += value;
    } else {
        for (const char c : value) {
            if (is_escaped(c)) text += '\\';
            text += c == '\n' ? 'n' : c;
        }
    }
    text += "\",";
}

const char* scope(const RequestInfo& info) {
    if (!info.is_resource) return "";
    if (!info.name.empty()) return "resource";
    return info.namespace_.empty() ? "cluster" : "namespace";
}

}  // namespace

bool is_mutating(const RequestInfo& info) {
    return info.verb != "get" && info.verb != "list" && info.verb != "watch" && info.verb != "head";
}

std::string RequestMetrics::labels(const RequestInfo& info, bool served) {
    std::string text;
    text.reserve(160);
    append_label(text, "verb", metric_verb(info));
    append_label(text, "group", served ? info.group : "");
    append_label(text, "version", served ? info.version : "");
    append_label(text, "resource", served ? info.resource : "");
    append_label(text, "subresource", served ? info.subresource : "");
    append_label(text, "scope", served ? scope(info) : "");
    text += "component=\"apiserver\"";
    return text;
}

std::pair<const std::string, RequestMetrics::Series>& RequestMetrics::series_of(const RequestInfo& info, bool served) {
    std::string text = labels(info, served);
    if (const auto known = series_.find(text); known != series_.end()) return *known;
    if (served && series_.size() >= MostSeries) text = labels(info, false);
    return *series_.try_emplace(std::move(text)).first;
}

void RequestMetrics::begin(const RequestInfo& info, bool served) {
    if (info.long_running())
        ++long_running_[series_of(info, served).first];
    else
        ++in_flight_[is_mutating(info) ? 0 : 1];
}

void RequestMetrics::end(const RequestInfo& info, bool served, bool dry_run, int code, Duration taken) {
    ++total_;
    auto& [common, series] = series_of(info, served);
    ++series.requests[{dry_run, code}];
    if (info.long_running()) {
        --long_running_[common];
        return;
    }
    --in_flight_[is_mutating(info) ? 0 : 1];
    Histogram& histogram = series.durations;
    const double seconds = std::chrono::duration<double>(taken).count();
    for (std::size_t i = 0; i < Buckets.size(); ++i)
        if (seconds <= Buckets[i]) ++histogram.counts[i];
    ++histogram.count;
    histogram.sum += seconds;
}

void RequestMetrics::append(std::string& out) const {
    std::vector<const decltype(series_)::value_type*> ordered;
    for (const auto& entry : series_) ordered.push_back(&entry);
    std::ranges::sort(ordered, {}, [](const auto* entry) -> const std::string& { return entry->first; });
    const MetricFamily requests(out, "apiserver_request_total", "counter", "Requests by verb, resource and HTTP code.");
    for (const auto* entry : ordered) {
        for (const auto& [key, count] : entry->second.requests)
            requests.add(entry->first + ",dry_run=\"" + (key.first ? "All" : "") + "\",code=\"" + std::to_string(key.second) + '"', count);
    }
    const MetricFamily durations(out, "apiserver_request_duration_seconds", "histogram", "Time to answer, without watches and streams.");
    for (const auto* entry : ordered) {
        const auto& [labels, histogram] = std::tie(entry->first, entry->second.durations);
        if (histogram.count == 0) continue;
        for (std::size_t i = 0; i < Buckets.size(); ++i)
            durations.add_part("_bucket", labels + ',' + metric_label("le", metric_number(Buckets[i])),
                               std::to_string(histogram.counts[i]));
        durations.add_part("_bucket", labels + ",le=\"+Inf\"", std::to_string(histogram.count));
        durations.add_part("_sum", labels, metric_number(histogram.sum));
        durations.add_part("_count", labels, std::to_string(histogram.count));
    }
    const MetricFamily in_flight(out, "apiserver_current_inflight_requests", "gauge", "Requests in progress.");
    in_flight.add(metric_label("request_kind", "mutating"), in_flight_[0]);
    in_flight.add(metric_label("request_kind", "readOnly"), in_flight_[1]);
    const MetricFamily long_running(out, "apiserver_longrunning_requests", "gauge", "Watches and streams in progress.");
    for (const auto& [labels, count] : long_running_) long_running.add(labels, count);
}

}  // namespace porthole::apiserver
