#include "apiserver/custom_resources/conversion_webhook.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {

using schema::Value;
using namespace std::chrono_literals;

constexpr std::chrono::seconds LongestCall = 30s;  // upstream's
constexpr std::size_t MostNamed = 1024;
constexpr double RequestBuckets[] = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60};
constexpr double DefinitionBuckets[] = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                        0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};

WebhookCaller::ClientConfig caller_config(const api::apiextensions::v1::WebhookClientConfig& given) {
    WebhookCaller::ClientConfig config;
    config.url = given.url;
    config.ca_bundle = given.ca_bundle;
    if (!given.service) return config;
    config.service.emplace();
    config.service->namespace_ = given.service->namespace_;
    config.service->name = given.service->name;
    config.service->path = given.service->path;
    config.service->port = given.service->port;
    return config;
}

std::string version_of(std::string_view api_version) { return std::string(api_version.substr(api_version.find('/') + 1)); }

}  // namespace

bool has_conversion_webhook(const CustomResourceDefinition& definition) {
    const auto& conversion = definition.spec.conversion;
    return conversion && conversion->strategy == "Webhook" && conversion->webhook && conversion->webhook->client_config;
}

ConversionWebhook::ConversionWebhook(Seams seams, const CustomResourceDefinition& definition)
    : seams_(seams), definition_(definition.metadata.name), client_(caller_config(*definition.spec.conversion->webhook->client_config)) {
    for (const auto& version : definition.spec.versions) api_versions_.insert(definition.spec.group + '/' + version.name);
    const auto& wanted = definition.spec.conversion->webhook->conversion_review_versions;
    const auto known = std::ranges::find_if(wanted, [](const std::string& one) { return one == "v1" || one == "v1beta1"; });
    if (known != wanted.end()) review_version_ = *known;
}

Result<void> ConversionWebhook::check_versions(const std::vector<Value>& objects) const {
    if (review_version_.empty()) return Error(Reason::Unknown, "no supported conversion review versions");
    for (const Value& object : objects)
        if (const std::string from(object.string_at({"apiVersion"})); !api_versions_.contains(from))
            return Error(Reason::Unknown, "request to convert CR from an invalid group/version: " + from);
    return {};
}

Task<std::vector<Value>> ConversionWebhook::convert(std::vector<Value> objects, std::string api_version) {
    CO_TRY_VOID(check_versions(objects));
    const auto permit = co_await with_timeout(calls_.acquire(), LongestCall, "conversion webhook");
    if (is_cancelled(permit)) co_return permit.error();
    if (!permit)
        co_return Error(Reason::TooManyRequests, "too many calls of the conversion webhook for " + definition_ + " are in progress");
    const ConversionReview review{
        .version = review_version_, .uid = seams_.random.uuid(), .api_version = std::move(api_version), .objects = std::move(objects)};
    const std::string kind = kind_text(review.objects.front());
    const MonotonicTime begun = seams_.loop.now();
    CO_TRY(const auto called, co_await seams_.caller.post(client_, to_json(review), LongestCall));
    if (is_cancelled(called.outcome)) co_return called.outcome.error();
    auto converted = called.outcome
                         ? parse_conversion_answer(*called.outcome, review)
                         : std::unexpected(ConversionFailure{ConversionCallFailure, "failed: " + called.outcome.error().message});
    seams_.metrics.add({.definition = definition_,
                        .from = version_of(review.objects.front().string_at({"apiVersion"})),
                        .to = version_of(review.api_version),
                        .taken = seams_.loop.now() - begun,
                        .failure = converted ? "" : converted.error().type});
    if (!converted) co_return Error(Reason::Unknown, "conversion webhook for " + kind + " " + converted.error().message);
    co_return std::move(*converted);
}

void ConversionMetrics::add(Call call) {
    // Names are DNS names, so that labels need no escapes.
    const std::array names{call.definition, call.from, call.to};
    if (named_.size() < MostNamed) named_.insert(names);
    if (!named_.contains(names)) call.definition = call.from = call.to = "";
    const bool succeeded = call.failure.empty();
    const double seconds = std::chrono::duration<double>(call.taken).count();
    const std::string labels = metric_label("failure_type", call.failure) + ',' + metric_label("result", succeeded ? "success" : "failure");
    ++requests_[labels];
    times_.try_emplace(labels, RequestBuckets).first->second.add(seconds);
    const std::string of_definition = metric_label("crd_name", call.definition) + ',' + metric_label("from_version", call.from) + ',' +
                                      metric_label("succeeded", succeeded ? "true" : "false") + ',' + metric_label("to_version", call.to);
    times_by_definition_.try_emplace(of_definition, DefinitionBuckets).first->second.add(seconds);
}

void ConversionMetrics::append(std::string& out) const {
    if (requests_.empty()) return;
    const MetricFamily requests(out, "apiserver_conversion_webhook_request_total", "counter",
                                "Calls of conversion webhooks by their outcome.");
    for (const auto& [labels, count] : requests_) requests.add(labels, count);
    const MetricFamily times(out, "apiserver_conversion_webhook_duration_seconds", "histogram", "Time of calls of conversion webhooks.");
    for (const auto& [labels, one] : times_) one.append(times, labels);
    const MetricFamily by_definition(out, "apiserver_crd_conversion_webhook_duration_seconds", "histogram",
                                     "Time of calls of conversion webhooks, by definition and versions.");
    for (const auto& [labels, one] : times_by_definition_) one.append(by_definition, labels);
}

}  // namespace porthole::apiserver
