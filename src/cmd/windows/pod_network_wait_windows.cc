#include "cmd/windows/pod_network_wait.h"

#include <filesystem>

#include "cmd/network/own_hns.h"
#include "hns/client.h"

namespace porthole::cmd {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Task<> wait_for_pod_network(RealWorld& world, WindowsNode node) {
    const auto hns = own_hns(world.loop, *world.pool);
    hns::Client client(*hns);
    for (const MonotonicTime deadline = world.loop.now() + 90s;;) {
        CO_TRY(const auto network, co_await client.find<hns::hcn::HostComputeNetwork>(node.network_name()));
        std::error_code code;
        if (network && fs::exists(node.cni_config(), code)) co_return {};
        if (world.loop.now() > deadline) {
            co_return Error(Reason::Timeout, "the HNS network " + node.network_name() + " does not come up: see " + node.log_folder +
                                                 "\\flanneld.log; a cluster that is not Porthole's must let nodes read nodes "
                                                 "(examples\\foreign-cluster.yaml) and give each a range of pod addresses");
        }
        CO_TRY_VOID(co_await world.loop.sleep(500ms));
    }
}

}  // namespace porthole::cmd
