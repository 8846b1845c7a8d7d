#include "node_join/windows_node/pod_network_wait.h"

#include <filesystem>

#include "hns/client.h"

namespace porthole::node_join {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Task<> wait_for_pod_network(EventLoop& loop, hns::Hns& service, WindowsNode node) {
    hns::Client client(service);
    for (const MonotonicTime deadline = loop.now() + 90s;;) {
        CO_TRY(const auto network, co_await client.find<hns::hcn::HostComputeNetwork>(node.network_name()));
        std::error_code code;
        if (network && fs::exists(node.cni_config(), code)) co_return {};
        if (loop.now() > deadline) {
            co_return Error(Reason::Timeout, "the HNS network " + node.network_name() + " was not created: see " + node.log_folder +
                                                 "\\flanneld.log; a cluster that is not Porthole's must let nodes read nodes "
                                                 "(examples\\foreign-cluster.yaml) and give each a range of pod addresses");
        }
        CO_TRY_VOID(co_await loop.sleep(500ms));
    }
}

}  // namespace porthole::node_join
