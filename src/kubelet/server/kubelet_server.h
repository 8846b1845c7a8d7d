#pragma once
#include <memory>

#include "kubelet/kubelet.h"
#include "kubelet/server/access.h"
#include "net/http/http.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::kubelet {

/// How the node's own log files are shown.
struct NodeLogPolicy {
    std::string directory = "/var/log";  ///< everything below it is readable to anyone who may read a node's logs
    bool query = false;                  ///< whether they can be searched by service, not only listed and read
    std::vector<std::string> folders;    ///< searched before `directory`, for files *.log alone
};

/// The kubelet's interface, as the handler of an HttpServer with TLS and the cluster's client CA.
///
/// Failures are plain text with the code that fits, as upstream's kubelet answers. On the kubelet's loop; both must outlive it.
class KubeletServer final : public net::HttpHandler {
public:
    KubeletServer(AsioLoop& loop, Kubelet& kubelet, AccessPolicy policy, Logger log, NodeLogPolicy node_logs = {});
    ~KubeletServer() override;

    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The port for health checks on this machine: `/healthz` answers "ok" and nothing else is served. No TLS, loopback only.
class HealthHandler final : public net::HttpHandler {
public:
    explicit HealthHandler(Kubelet& kubelet) : kubelet_(kubelet) {}
    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;

private:
    Kubelet& kubelet_;
};

}  // namespace porthole::kubelet
