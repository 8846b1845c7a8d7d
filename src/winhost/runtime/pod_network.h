#pragma once
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "runtime/task.h"

namespace porthole::winhost {

/// The network's view of a sandbox.
struct PodAttachment {
    std::string sandbox_id;
    std::string namespace_id;  ///< of the host network service: a GUID
    api::cri::v1::PodSandboxConfig config;
};

/// The addresses that the network assigned to a pod.
struct PodAddresses {
    std::vector<std::string> addresses;  ///< without prefix length, the main one first
    std::vector<std::string> dns_servers, dns_searches;
};

/// The seam to pods' networks: HNS namespaces, and the CNI plugins' changes to them.
class PodNetwork {
public:
    virtual ~PodNetwork() = default;
    /// Why no pod can get a network now; "" if one can.
    virtual std::string not_ready() = 0;
    /// A new network namespace; its id.
    virtual Task<std::string> create_namespace() = 0;
    /// Success if it is not there.
    virtual Task<> remove_namespace(std::string namespace_id) = 0;
    /// Where it is on Linux.
    virtual std::string path(const std::string& namespace_id) const = 0;
    /// Error: the failure of a CNI plugin, with its own message.
    virtual Task<PodAddresses> attach(PodAttachment attachment) = 0;
    /// Safe to repeat.
    virtual Task<> detach(PodAttachment attachment) = 0;
};

}  // namespace porthole::winhost
