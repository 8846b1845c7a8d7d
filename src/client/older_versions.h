#pragma once
#include "client/transport.h"

namespace porthole::client {

/// Lets a program that uses current API versions talk to an API server of 1.20: if the server does not have a version, the older version is
/// requested, and its answer is converted. Of all that a node's programs use, this concerns only EndpointSlices (discovery.k8s.io/v1 since
/// 1.21, v1beta1 until 1.25), so only reading is converted. Owns the transport to the server.
class OlderVersions final : public Transport {
public:
    explicit OlderVersions(std::unique_ptr<Transport> server) : server_(std::move(server)) {}

    Task<ApiResponse> call(ApiRequest request) override;
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) override;

private:
    std::unique_ptr<Transport> server_;
    bool older_ = false;  ///< whether the server needed the older version last time; an upgrade changes it
};

}  // namespace porthole::client
