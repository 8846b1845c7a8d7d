#pragma once
#include <cstdint>
#include <string>

#include "api/core_v1.h"
#include "apiserver/storage/object_reader.h"

namespace porthole::apiserver {

/// Where a service is reached without the cluster's network rules, which this server's machine need not have.
struct ServiceEndpoint {
    std::string host;
    std::uint16_t port = 0;
};

/// Error: BadRequest for what only this machine (or its link, cloud metadata among it) can reach: no one may send this server there.
Result<void> check_reachable_by_all(const std::string& host);

/// A ready endpoint of `port` of the service, by its EndpointSlices. Errors: ServiceUnavailable when there is none; BadRequest as above.
Result<ServiceEndpoint> find_service_endpoint(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                              const api::core::v1::ServicePort& port);

/// Where `port` of the service leads: one of its endpoints, or what an ExternalName stands for. Errors: NotFound when there is no such
/// service; ServiceUnavailable when it does not have the port, or as above.
Result<ServiceEndpoint> resolve_service(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                        std::int32_t port);

/// "https://host:port"
std::string https_url(const std::string& host, std::int32_t port);

}  // namespace porthole::apiserver
