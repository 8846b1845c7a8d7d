#pragma once
#include <memory>
#include <string>
#include <vector>

#include "csi_proxy/host.h"
#include "csi_proxy/path_rules.h"
#include "net/grpc/grpc.h"
#include "runtime/worker_pool.h"

namespace porthole::csi_proxy {

/// The longest message that a driver may send, in bytes.
inline constexpr std::size_t LargestRequest = 64 << 10;

/// All groups' methods, for drivers in containers of one host. Lives on one loop; `pool`, and the references in `host`, outlive it.
class CsiProxy {
public:
    CsiProxy(WorkerPool& pool, PathRules paths, Host host);
    ~CsiProxy();

    /// The methods of every group: the groups' service names differ, so that all pipes may have the same handler.
    net::GrpcHandler& handler() { return grpc_; }
    /// "\\.\pipe\csi-proxy-filesystem-v1" and so on: the pipes that drivers use.
    static std::vector<std::string> pipes();

private:
    const PathRules paths_;
    net::GrpcHandler grpc_;
    std::vector<std::shared_ptr<void>> groups_;
};

}  // namespace porthole::csi_proxy
