#pragma once
#include "client/kubeconfig.h"
#include "cmd/doctor/node/node_evidence.h"
#include "hns/client.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::cmd::doctor {

/// What the service keeps of the network `name`. Error: the service's.
Task<HnsFacts> read_hns(hns::Hns& service, std::string name);

/// How far this machine's clock is behind that of the API server, in seconds, by the date of an answer. Errors: Unavailable, BadRequest.
Task<std::int64_t> ask_clock(AsioLoop& loop, client::ClientConfig config);

/// The address that the node has in the cluster, by the credentials of its own kubelet. Errors: BadRequest for other credentials; NotFound,
/// the server's.
Task<std::string> ask_address(AsioLoop& loop, client::ClientConfig config);

/// Adds which API servers the node's balancer uses, by the list in the folder of its kubeconfig's identity; nothing where there is none.
void look_at_servers(FileSystem& files, const std::string& folder, NodeEvidence& evidence);

/// Adds what the machine tells on either system: adapters and their sizes of packets by `address`, which ports are taken, and
/// proxies: the caller has given this process the variables of the node's programs.
/// `pod_address` is the host's own in the pod network; "" where it has none.
void look_at_machine(AsioLoop& loop, const std::string& pod_address, NodeEvidence& evidence);

}  // namespace porthole::cmd::doctor
