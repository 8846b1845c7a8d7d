#include "cmd/node/node_proxy.h"
#include "cni/plugin/host_local/host_local.h"
#include "hns/dll/load_hns.h"
#include "net/interface_address.h"
#include "proxy/hns/kernelspace_proxy.h"

namespace porthole::cmd {
namespace {

class KernelspaceNodeProxy final : public NodeProxy {
public:
    KernelspaceNodeProxy(NodeProxySeams seams, proxy::hns::KernelspaceOptions options)
        : hns_(hns::own_hns(seams.world.loop, *seams.world.pool)),
          addresses_(seams.files, *locks_, cni::default_host_local_options()),
          scope_(seams.world.loop),
          proxy_({seams.world.loop, seams.informers, *hns_, seams.events, seams.health, net::mac_of_interface_with, seams.log,
                  [this](const std::string& network, const IpPrefix& range) { return addresses_.reserve_for_node(network, range); }},
                 std::move(options)) {}

    const proxy::ProxyStatus& status() const override { return proxy_; }

    Task<> run() override {
        scope_.spawn(proxy_.listen());
        auto ended = co_await proxy_.run();
        CO_TRY_VOID(co_await scope_.close());
        co_return ended;
    }

    Task<> clean_up() override { return proxy_.clean_up(); }

private:
    std::unique_ptr<hns::Hns> hns_;
    std::unique_ptr<cni::FileLocks> locks_ = cni::make_file_locks();
    cni::HostLocal addresses_;  // the very leases of the CNI plugin
    Scope scope_;
    proxy::hns::KernelspaceProxy proxy_;
};

}  // namespace

Result<std::unique_ptr<NodeProxy>> make_node_proxy(NodeProxySeams seams, proxy::KubeProxyOptions options) {
    return std::make_unique<KernelspaceNodeProxy>(std::move(seams), std::move(options.kernelspace));
}

}  // namespace porthole::cmd
