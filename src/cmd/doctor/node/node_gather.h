#pragma once
#include "client/kubeconfig.h"
#include "cmd/doctor/node/node_evidence.h"
#include "hns/client.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::cmd::doctor {

/// HNS' objects for the network `name`. Error: the service's.
Task<HnsFacts> read_hns(hns::Hns& service, std::string name);

/// By how many seconds this machine's clock is behind the API server's, from the date of an answer. Errors: Unavailable, BadRequest.
Task<std::int64_t> ask_clock(AsioLoop& loop, client::ClientConfig config);

/// The node's address in the cluster, read with the credentials of its kubelet. Errors: BadRequest for other credentials; NotFound, the
/// server's.
Task<std::string> ask_address(AsioLoop& loop, client::ClientConfig config);

/// Adds the API servers of the node's balancer, from the list in the directory of its kubeconfig's identity; nothing if there is none.
void look_at_servers(FileSystem& files, const std::string& folder, NodeEvidence& evidence);

/// Adds facts that exist on either system: adapters and their MTUs by `address`, used ports, and proxies, for which the caller has set the
/// variables of the node's programs in this process. `pod_address` is the host's own in the pod network; "" if it has none.
void look_at_machine(AsioLoop& loop, const std::string& pod_address, NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
