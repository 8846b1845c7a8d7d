#include "cmd/node/node_proxy.h"
#include "netlink/network_stack.h"
#include "proxy/nftables/nftables_proxy.h"

namespace porthole::cmd {
namespace {

Result<proxy::nftables::NftablesOptions> nftables_options(const proxy::KubeProxyOptions& options) {
    proxy::nftables::NftablesOptions wanted{.node_name = options.kernelspace.node_name};
    for (const std::string& text : split_list(options.cluster_cidr)) {
        TRY(const IpPrefix prefix, IpPrefix::parse(text));
        if (prefix.base().is_v4()) wanted.rules.pod_prefixes.push_back(prefix);
    }
    // Without br_netfilter answers between neighbors pass the bridge unseen.
    const auto seen = net::make_network_stack()->setting("net/bridge/bridge-nf-call-iptables");
    wanted.rules.masquerade_neighbors = !seen || !seen->starts_with('1');
    return wanted;
}

class NftablesNodeProxy final : public NodeProxy {
public:
    NftablesNodeProxy(const NodeProxySeams& seams, proxy::nftables::NftablesOptions options)
        : nft_(net::make_nft_executor(*seams.world.processes, *seams.world.pool)),
          conntrack_(net::make_conntrack(*seams.world.pool)),
          proxy_({seams.world.loop, seams.informers, *nft_, *conntrack_, seams.health, seams.log}, std::move(options)) {}

    const proxy::ProxyStatus& status() const override { return proxy_; }
    Task<> run() override { return proxy_.run(); }
    Task<> clean_up() override { return proxy::nftables::remove_rules(*nft_); }

private:
    std::unique_ptr<net::NftExecutor> nft_;
    std::unique_ptr<net::Conntrack> conntrack_;
    proxy::nftables::NftablesProxy proxy_;
};

}  // namespace

Result<std::unique_ptr<NodeProxy>> make_node_proxy(NodeProxySeams seams, proxy::KubeProxyOptions options) {
    TRY(auto wanted, nftables_options(options));
    return std::make_unique<NftablesNodeProxy>(seams, std::move(wanted));
}

}  // namespace porthole::cmd
