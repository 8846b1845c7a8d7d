#include "apiserver/admission/webhook_caller.h"

#include <algorithm>
#include <filesystem>

#include "apiserver/admission/admission_review.h"
#include "apiserver/outgoing/service_endpoint.h"
#include "base/result.h"
#include "base/strings.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {
namespace {

using api::admissionregistration::v1::ServiceReference;

constexpr std::size_t LongestQuotedBody = 1024;

std::string name_of(const ServiceReference& service) { return service.name + "." + service.namespace_ + ".svc"; }

/// As upstream's client asks: "//convert/" is /convert.
std::string clean_path(const std::string& path) {
    if (path.empty()) return path;
    std::string clean = std::filesystem::path("/" + path).lexically_normal().generic_string();
    if (clean.ends_with('/')) clean.pop_back();
    return clean;
}

std::string path_of(const ServiceReference& service) { return clean_path(service.path.value_or("")); }

std::string clean_url(const std::string& url) {
    constexpr std::string_view Scheme = "https://";
    const std::size_t path = std::min(url.find('/', Scheme.size()), url.size());
    return url.substr(0, path) + clean_path(url.substr(path));
}

/// What upstream's client makes of a code that is not 2xx.
std::string refusal(const net::HttpResponse& answer) {
    std::string body(trim(std::string_view(answer.body).substr(0, LongestQuotedBody)));
    if (answer.code == 404) return "the server could not find the requested resource";
    if (answer.code == 403) return "forbidden: " + (body.empty() ? std::string("unknown") : body);
    if (answer.code == 401) return "the server has asked for the client to provide credentials";
    if (answer.code == 413) return "Request entity too large";
    if (answer.code >= 500)
        return "an error on the server (" + quote(body.empty() ? "unknown" : body) + ") has prevented the request from succeeding";
    return "the server responded with the status code " + std::to_string(answer.code) + " but did not return more information";
}

}  // namespace

std::string webhook_url(const WebhookCaller::ClientConfig& config, std::chrono::seconds time) {
    const std::string query = "?timeout=" + std::to_string(time.count()) + "s";
    if (config.url) return clean_url(*config.url) + query;
    return https_url(name_of(*config.service), config.service->port.value_or(443)) + path_of(*config.service) + query;
}

Result<WebhookCaller::Target> WebhookCaller::target_of(const ClientConfig& config) const {
    Target target;
    target.config.ca_pem = config.ca_bundle;
    if (config.url) {
        target.config.server = clean_url(*config.url);
        return target;
    }
    const ServiceReference& reference = *config.service;
    const std::int32_t wanted = reference.port.value_or(443);
    target.config.server_name = name_of(reference);
    target.host = target.config.server_name + ":" + std::to_string(wanted);
    TRY(const ServiceEndpoint endpoint, resolve_service(reader_, reference.namespace_, reference.name, wanted, random_));
    target.config.global_only = true;
    target.config.server = https_url(endpoint.host, endpoint.port) + path_of(reference);
    return target;
}

Result<std::shared_ptr<OutgoingClient>> WebhookCaller::client_of(const client::ClientConfig& config) {
    if (!clients_) return Error(Reason::Unavailable, "this server cannot connect to webhooks");
    // A digest, as a bundle of certificates has up to a megabyte.
    const std::string key = config.server + '\n' + config.server_name + '\n' + net::sha256(config.ca_pem);
    if (const auto* known = opened_.find(key)) return *known;
    TRY(auto opened, clients_->open(config));
    return opened_.put(key, std::move(opened));
}

Task<WebhookCaller::Answer> WebhookCaller::post(ClientConfig config, std::string body, std::chrono::seconds time) {
    const auto failed = [&](Error error, int code = 0) {
        if (is_cancelled(error)) return Answer{.outcome = std::move(error)};
        std::string why = error.reason == Reason::Timeout ? "context deadline exceeded" : error.message;
        return Answer{.code = code,
                      .outcome = Error(Reason::InternalError, "Post " + quote(webhook_url(config, time)) + ": " + std::move(why))};
    };
    auto target = target_of(config);
    if (!target) co_return failed(std::move(target).error());
    auto client = client_of(target->config);
    if (!client) co_return failed(std::move(client).error());
    net::HttpRequest request{.method = "POST", .query = "timeout=" + std::to_string(time.count()) + "s", .body = std::move(body)};
    if (!target->host.empty()) request.headers.add("host", target->host);
    request.headers.add("content-type", "application/json");
    request.headers.add("accept", "application/json, */*");
    const auto opened = *client;  // kept while it is asked, whatever else is called meanwhile
    auto answer = co_await opened->send(std::move(request), {.time = time, .answer_bytes = MostReviewAnswerBytes});
    if (!answer) co_return failed(std::move(answer).error());
    if (answer->code < 200 || answer->code >= 300)
        co_return Answer{.code = answer->code, .outcome = Error(Reason::InternalError, refusal(*answer))};
    co_return Answer{.code = answer->code, .outcome = std::move(answer->body)};
}

}  // namespace porthole::apiserver
