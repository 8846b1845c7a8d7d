#pragma once
#include <memory>

#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "winhost/cri/streaming.h"
#include "winhost/cri/token_gate.h"

namespace porthole::winhost {

/// Adds the CRI v1 methods that a kubelet calls to `grpc`, executed by the services. Both outlive it.
void serve_cri(net::GrpcHandler& grpc, kubelet::RuntimeService& runtime, kubelet::ImageService& images);

/// Where CRI is offered.
struct CriServerOptions {
    std::string unix_socket;     ///< for programs on Linux
    std::uint16_t tcp_port = 0;  ///< on loopback, for programs under Wine; 0 picks one
    std::string token;           ///< that they begin with
};

/// CRI's sockets of one emulated host. Both services outlive it; close() it before destroying it.
class CriServer {
public:
    CriServer(AsioLoop& loop, Random& random, Runtime& runtime, kubelet::ImageService& images, Logger log);

    Result<void> listen(const CriServerOptions& options);
    std::uint16_t tcp_port() const { return gate_->port(); }
    Task<> close();

private:
    AsioLoop& loop_;
    StreamingServer streaming_;
    net::GrpcHandler grpc_;
    net::HttpServer grpc_server_, streaming_server_;
    std::unique_ptr<TokenGate> gate_;
};

}  // namespace porthole::winhost
