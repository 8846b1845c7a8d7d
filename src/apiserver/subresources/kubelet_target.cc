#include "apiserver/subresources/kubelet_target.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {
constexpr std::uint16_t KubeletPort = 10250;
}

Result<ConnectTarget> kubelet_of(const api::core::v1::Node& node) {
    ConnectTarget target{.port = static_cast<std::uint16_t>(node.status.daemon_endpoints.kubelet_endpoint.port)};
    if (target.port == 0) target.port = KubeletPort;
    for (const char* wanted : {"InternalIP", "ExternalIP", "Hostname"}) {
        const auto found = std::ranges::find(node.status.addresses, wanted, &api::core::v1::NodeAddress::type);
        if (found == node.status.addresses.end()) continue;
        target.host = found->address;
        return target;
    }
    return Error(Reason::InternalError, "no preferred addresses found; known addresses: []");
}

}  // namespace porthole::apiserver
