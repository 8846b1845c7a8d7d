#include "local_cluster/hosts/node_identity.h"

#include "local_cluster/hosts/host_files.h"
#include "node_join/identity.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {

bool is_refused(const DataDir& data, const NodeHost& node, const std::string& ca_pem, SystemTime now) {
    const auto folder = data.node(node.name);
    const auto identity =
        node.is_windows() ? HostFiles(folder).read_credential(node_join::IdentityFile) : read_file(folder / node_join::IdentityFile);
    return !identity || !node_join::is_accepted_identity(*identity, ca_pem, now);
}

std::vector<std::string> refused_nodes(const DataDir& data, const Cluster& cluster, const std::string& ca_pem, SystemTime now) {
    std::vector<std::string> names;
    for (const NodeHost& node : cluster.nodes(data))
        if (is_refused(data, node, ca_pem, now)) names.push_back(node.name);
    return names;
}

}  // namespace porthole::local_cluster
