#include "local_cluster/hosts/node_identity.h"

#include "node_join/identity.h"

namespace porthole::local_cluster {

bool is_refused(const DataDir& data, const NodeHost& node, const std::string& ca_pem, SystemTime now) {
    const auto folder = node.is_windows() ? data.node(node.name) / "C/k/pki" : data.node(node.name);  // WindowsNode::credentials()
    return !node_join::is_accepted_identity(folder, ca_pem, now);
}

std::vector<std::string> refused_nodes(const DataDir& data, const Cluster& cluster, const std::string& ca_pem, SystemTime now) {
    std::vector<std::string> names;
    for (const NodeHost& node : cluster.nodes(data))
        if (is_refused(data, node, ca_pem, now)) names.push_back(node.name);
    return names;
}

}  // namespace porthole::local_cluster
