#include "controllers/horizontal_pod_autoscaler/metrics_client.h"

#include <algorithm>

#include "api/metrics_v1beta1.h"
#include "base/result.h"
#include "net/http/http.h"
#include "objects/selectors.h"

namespace porthole::controllers {

using api::metrics::v1beta1::ContainerMetrics;
using api::metrics::v1beta1::PodMetrics;
using schema::Value;

namespace {

constexpr const char *ResourceApi = "resource metrics API", *CustomApi = "custom metrics API", *ExternalApi = "external metrics API";
constexpr std::int64_t DefaultWindow = 60;  ///< seconds, of a custom metric that does not tell
constexpr const char* CustomGroup = "/apis/custom.metrics.k8s.io";

Error unable_to_fetch(const char* api, const Error& why) {
    return Error(why.reason, std::string("unable to fetch metrics from ") + api + ": " + why.message);
}
Error nothing_returned(const char* api) { return Error(Reason::NotFound, std::string("no metrics returned from ") + api); }

/// Nullopt where one of the containers does not tell.
std::optional<std::int64_t> usage_of(const PodMetrics& pod, const std::string& resource) {
    Quantity sum;
    for (const ContainerMetrics& container : pod.containers) {
        const auto used = container.usage.find(resource);
        if (used == container.usage.end()) return std::nullopt;
        sum += used->second;
    }
    return pod.containers.empty() ? std::nullopt : std::optional(sum.milli_value());
}

std::string encoded(const std::string& text) { return net::percent_encode(text); }

std::string selector_of(const MetricsClient::Identifier& metric) { return metric.selector ? objects::to_query(*metric.selector) : ""; }

void add_parameter(std::string& query, const char* name, const std::string& value) {
    if (value.empty()) return;
    if (!query.empty()) query += '&';
    query += std::string(name) + "=" + encoded(value);
}

Result<std::int64_t> milli_value(const Value& item) {
    const Value& value = at(item, "value");
    if (value.is_int()) return Quantity::from_value(value.as_int()).milli_value();
    TRY(const Quantity amount, Quantity::parse(value.string_or("")));
    return amount.milli_value();
}

/// At most a day, whatever is told.
Duration window_of(const Value& item) {
    constexpr std::int64_t Longest = 24 * 60 * 60;
    const Value* told = item.find("windowSeconds");  // v1beta1 calls it "window"
    if (!told) told = item.find("window");
    return std::chrono::seconds(std::clamp<std::int64_t>(told ? told->int_or(DefaultWindow) : DefaultWindow, 0, Longest));
}

}  // namespace

Task<PodMetricValues> MetricsClient::of_resource(std::string namespace_, std::string selector, std::string resource,
                                                 std::string container) {
    const auto listed = co_await client_.list<PodMetrics>({.namespace_ = namespace_, .label_selector = std::move(selector)});
    if (is_cancelled(listed)) co_return listed.error();
    if (!listed) co_return unable_to_fetch(ResourceApi, listed.error());
    if (listed->items.empty()) co_return nothing_returned(ResourceApi);
    PodMetricValues values;
    for (const PodMetrics& pod : listed->items) {
        PodMetric metric{.time = pod.timestamp, .window = pod.window};
        if (container.empty()) {
            const auto used = usage_of(pod, resource);
            if (!used) continue;
            metric.value = *used;
        } else {
            const auto found = std::ranges::find(pod.containers, container, &ContainerMetrics::name);
            if (found == pod.containers.end())
                co_return Error(Reason::NotFound, "failed to get container metrics: container " + container +
                                                      " not present in metrics for pod " + namespace_ + "/" + pod.metadata.name);
            const auto used = found->usage.find(resource);
            if (used == found->usage.end()) continue;
            metric.value = used->second.milli_value();
        }
        values[pod.metadata.name] = metric;
    }
    co_return values;
}

Task<Value> MetricsClient::items(std::string path, std::string query, const char* api) {
    const auto body = co_await client_.get_raw(std::move(path), std::move(query));
    if (is_cancelled(body)) co_return body.error();
    if (!body) co_return unable_to_fetch(api, body.error());
    auto list = schema::parse_json(**body);
    if (!list) co_return unable_to_fetch(api, list.error());
    Value* found = list->find("items");
    if (!found || !found->is_array() || found->as_array().empty()) co_return nothing_returned(api);
    co_return std::move(*found);
}

Task<std::string> MetricsClient::custom_metrics_path() {
    const auto body = co_await client_.get_raw(CustomGroup);
    if (is_cancelled(body)) co_return body.error();
    const Error none(Reason::NotFound, "no custom metrics API (custom.metrics.k8s.io) registered");
    if (!body) co_return unable_to_fetch(CustomApi, is_not_found(body) ? none : body.error());
    CO_TRY(const Value group, schema::parse_json(**body));
    const auto serves = [&](std::string_view version) {
        const Value* versions = group.find("versions");
        return versions && versions->is_array() &&
               std::ranges::any_of(versions->as_array(), [&](const Value& one) { return one.string_at({"version"}) == version; });
    };
    for (const char* version : {"v1beta2", "v1beta1"})
        if (serves(version)) co_return std::string(CustomGroup) + "/" + version;
    co_return unable_to_fetch(CustomApi, none);
}

Task<PodMetricValues> MetricsClient::of_pods(std::string namespace_, std::string selector, Identifier metric) {
    CO_TRY(std::string path, co_await custom_metrics_path());
    path += "/namespaces/" + encoded(namespace_) + "/pods/*/" + encoded(metric.name);
    std::string query;
    add_parameter(query, "labelSelector", selector);
    add_parameter(query, "metricLabelSelector", selector_of(metric));
    CO_TRY(const Value found, co_await items(std::move(path), std::move(query), CustomApi));
    PodMetricValues values;
    for (const Value& item : found.as_array()) {
        PodMetric one{.window = window_of(item)};
        CO_TRY(one.value, milli_value(item));
        if (const auto time = Timestamp::parse(item.string_at({"timestamp"}))) one.time = *time;
        values[std::string(item.string_at({"describedObject", "name"}))] = one;
    }
    co_return values;
}

Task<std::int64_t> MetricsClient::of_object(std::string namespace_, api::autoscaling::v2::CrossVersionObjectReference object,
                                            Identifier metric) {
    const std::string group = group_of_api_version(object.api_version);
    std::string below = "/metrics/";  // of the namespace itself, whose name the reference cannot choose
    if (object.kind != "Namespace" || !group.empty()) {
        CO_TRY(const ResourceName name, co_await names_.find(group, object.kind));
        below = "/" + encoded(name.qualified()) + "/" + encoded(object.name) + "/";
    }
    CO_TRY(std::string path, co_await custom_metrics_path());
    path += "/namespaces/" + encoded(namespace_) + below + encoded(metric.name);
    std::string query;
    add_parameter(query, "metricLabelSelector", selector_of(metric));
    CO_TRY(const Value found, co_await items(std::move(path), std::move(query), CustomApi));
    if (const std::size_t count = found.as_array().size(); count != 1)
        co_return unable_to_fetch(CustomApi, Error(Reason::BadRequest, "the custom metrics API server returned " + std::to_string(count) +
                                                                           " results when we asked for exactly one"));
    co_return milli_value(found.as_array().front());
}

Task<std::int64_t> MetricsClient::external(std::string namespace_, Identifier metric) {
    std::string query;
    add_parameter(query, "labelSelector", selector_of(metric));
    std::string path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + encoded(namespace_) + "/" + encoded(metric.name);
    CO_TRY(const Value found, co_await items(std::move(path), std::move(query), ExternalApi));
    Quantity sum;
    for (const Value& item : found.as_array()) {
        CO_TRY(const std::int64_t value, milli_value(item));
        sum += Quantity::from_milli(value);
    }
    co_return sum.milli_value();
}

}  // namespace porthole::controllers
