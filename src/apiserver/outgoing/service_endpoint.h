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

/// Error: BadRequest for what only this machine (or its link, cloud metadata among it) can reach, and for a name: no one may
/// send this server there. A name is checked when it has been resolved (net::Endpoint::global_only).
Result<void> check_reachable_by_all(const std::string& host);

/// One of the ready endpoints of `port` of the service, by its EndpointSlices: another one each time. Errors: ServiceUnavailable when there
/// is none; BadRequest as above when all are such.
Result<ServiceEndpoint> find_service_endpoint(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                              const api::core::v1::ServicePort& port, Random& random);

/// Where `port` of the service leads: one of its endpoints, or what an ExternalName stands for, which can be a name: who connects to it
/// sets `global_only`. Errors: NotFound when there is no such service; ServiceUnavailable when it does not have the port, or as above.
Result<ServiceEndpoint> resolve_service(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                        std::int32_t port, Random& random);

/// "https://host:port"
std::string https_url(const std::string& host, std::int32_t port);

}  // namespace porthole::apiserver
