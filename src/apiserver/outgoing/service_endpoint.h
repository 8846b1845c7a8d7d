#pragma once
#include <cstdint>
#include <string>

#include "api/core_v1.h"
#include "apiserver/storage/object_reader.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// Where a service is reached without the cluster's network rules, which this server's machine need not have.
struct ServiceEndpoint {
    std::string host;
    std::uint16_t port = 0;
};

/// Error: BadRequest for an address that only this machine or its link can reach, such as a cloud's metadata service: users must not be
/// able to send this server there. A name is checked once it is resolved (net::Endpoint::global_only).
Result<void> check_reachable_by_all(const std::string& host);

/// One of the ready endpoints of `port` of the service, by its EndpointSlices: another one each time. Errors: ServiceUnavailable if there
/// is none; BadRequest as above if all are refused.
Result<ServiceEndpoint> find_service_endpoint(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                              const api::core::v1::ServicePort& port, Random& random);

/// The destination of `port` of the service: one of its endpoints, or its ExternalName, which may be a name: the caller then sets
/// `global_only`. Errors: NotFound if there is no such service; ServiceUnavailable if it does not have the port, or as above.
Result<ServiceEndpoint> resolve_service(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                        std::int32_t port, Random& random);

/// "https://host:port"
std::string https_url(const std::string& host, std::int32_t port);

}  // namespace porthole::apiserver
