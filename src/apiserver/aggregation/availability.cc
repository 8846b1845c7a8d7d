#include "apiserver/aggregation/availability.h"

#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "apiserver/aggregation/remote_discovery.h"
#include "base/result.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::apiregistration::v1;
using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::EndpointSlice;
using Slices = std::vector<std::shared_ptr<const EndpointSlice>>;

constexpr int Attempts = 5;
constexpr OutgoingLimits CheckLimits{.time = std::chrono::seconds(5), .answer_bytes = 2 << 20};

APIServiceCondition condition(const char* status, const char* reason, std::string message) {
    return {.type = APIServiceConditionType::Available,
            .status = status,
            .last_transition_time = {},
            .reason = reason,
            .message = std::move(message)};
}
APIServiceCondition failed(const char* reason, std::string message) {
    return condition(ConditionStatus::False, reason, std::move(message));
}

bool has_endpoint(const Slices& slices, const std::string& port) {
    return std::ranges::any_of(slices, [&](const auto& slice) {
        return std::ranges::any_of(slice->endpoints, [](const auto& one) { return one.conditions.ready.value_or(true); }) &&
               std::ranges::any_of(slice->ports, [&](const auto& one) { return one.name.value_or("") == port && one.port; });
    });
}

/// What is wrong with the objects; nothing when they are as they should be.
std::optional<APIServiceCondition> check_objects(const ObjectReader& reader, const ServiceReference& reference) {
    const std::string name = "service/" + reference.name + " in " + quote(reference.namespace_);
    const auto unknown = [&](const char* reason, const Error& error) {
        return condition(ConditionStatus::Unknown, reason, name + " cannot be checked due to: " + error.message);
    };
    const auto service = reader.find<Service>(reference.namespace_, reference.name);
    if (!service) return unknown("ServiceAccessError", service.error());
    if (!*service) return failed("ServiceNotFound", name + " is not present");
    if ((*service)->spec.type != "ClusterIP") return std::nullopt;
    const std::int32_t wanted = reference.port.value_or(443);
    const auto& ports = (*service)->spec.ports;
    const auto port = std::ranges::find(ports, wanted, &ServicePort::port);
    if (port == ports.end()) return failed("ServicePortError", name + " is not listening on port " + std::to_string(wanted));
    auto slices = reader.list<EndpointSlice>(reference.namespace_);
    if (!slices) return unknown("EndpointsAccessError", slices.error());
    std::erase_if(*slices, [&](const auto& slice) {
        const auto owner = slice->metadata.labels.find("kubernetes.io/service-name");
        return owner == slice->metadata.labels.end() || owner->second != reference.name;
    });
    if (slices->empty()) return failed("EndpointsNotFound", "cannot find endpointslices for " + name);
    if (!has_endpoint(*slices, port->name))
        return failed("MissingEndpoints", "endpointslices for " + name + " have no addresses with port name " + quote(port->name));
    return std::nullopt;
}

/// What is wrong with the answer; "" when there is one.
Task<std::string> check_endpoint(ExtensionServers::Way way, net::HttpRequest request) {
    const std::string url = way.url + request.path;
    const std::string failing = "failing or missing response from " + url + ": ";
    const auto answer = co_await ask(std::move(way), std::move(request), CheckLimits);
    if (is_cancelled(answer)) co_return answer.error();
    if (!answer) co_return failing + "Get " + quote(url) + ": " + answer.error().message;
    if (answer->code < 200 || answer->code >= 300) co_return failing + "bad status from " + url + ": " + std::to_string(answer->code);
    co_return std::string();
}

/// The same of some endpoints of the service, until one answers: the service is there although one of them is not.
Task<std::string> check_discovery(ExtensionServers& servers, std::shared_ptr<const APIService> service) {
    std::set<std::string> asked;
    std::string wrong;
    for (int attempt = 0; attempt < Attempts; ++attempt) {
        auto way = servers.way_to(*service, ExtensionServers::Trust::Anyone);
        if (!way) co_return way.error().message;
        if (!asked.insert(way->url).second) continue;
        CO_TRY(wrong, co_await check_endpoint(*std::move(way), {.method = "GET", .path = "/" + openapi_path(*service)}));
        if (wrong.empty()) break;
    }
    co_return wrong;
}

}  // namespace

Task<APIServiceCondition> check_availability(ExtensionServers& servers, const ObjectReader& reader,
                                             std::shared_ptr<const APIService> service) {
    if (auto wrong = check_objects(reader, *service->spec.service)) co_return *std::move(wrong);
    CO_TRY(std::string wrong, co_await check_discovery(servers, service));
    if (!wrong.empty()) co_return failed("FailedDiscoveryCheck", std::move(wrong));
    co_return condition(ConditionStatus::True, "Passed", "all checks passed");
}

}  // namespace porthole::apiserver
