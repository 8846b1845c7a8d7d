#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node_join/key_pair.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}
namespace porthole::client {
class Client;
class Kubeconfig;
}  // namespace porthole::client

namespace porthole::node_join {

/// The cluster that a machine is to join, and what it is verified by: the command line of `join`.
struct JoinTarget {
    std::vector<std::string> servers;    ///< "https://10.0.0.5:6443", or without the scheme; each is tried
    std::string token;                   ///< "abcdef.0123456789abcdef"
    std::vector<std::string> ca_hashes;  ///< "sha256:<64 hex digits>" of an authority's public key
};

/// What a node may know before it has an identity.
struct ClusterInfo {
    std::string server;  ///< the one that has answered
    std::string ca_pem;
    std::map<std::string, std::string> data;  ///< of kube-public/cluster-info: kubeconfig, clusterCidr, clusterDns, …
};

/// Completes the servers' scheme. Error: BadRequest, one line with the remedy, for a token or a hash that cannot be one.
Result<void> check_target(JoinTarget& target);

/// Reads kube-public/cluster-info from a server that is not trusted yet, the first that answers. Trusts the authority that it names only
/// if its public key is one of those we were told, and the whole is signed by our token. Errors: Unauthorized otherwise; Unavailable when
/// none answers; BadRequest.
Task<ClusterInfo> discover_cluster(AsioLoop& loop, JoinTarget target);

/// The authorities that the cluster publishes for those who join, told by a server that is trusted already. Errors: NotFound where the
/// cluster has no cluster-info; as any request.
Task<std::string> published_authority(client::Client& client);

/// A node's client certificate, asked for as the token's owner. Errors: as request_node_certificate.
Task<KeyPair> request_node_identity(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::string node_name);

/// The servers behind a node's own address, by which its kubeconfig names them all.
struct ServerChoice {
    std::vector<std::string> servers;  ///< URLs
    std::uint16_t balancer_port = 0;   ///< of the node's loopback address; 0 to name the first server itself
};
/// How the node is to reach the cluster. Through its balancer, unless `port` is 0 or the server's certificate has not the name by which it
/// would be verified then: `why_not` is told that.
Task<ServerChoice> choose_servers(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::uint16_t port,
                                  std::function<void(const std::string&)> why_not);

/// A node's certificate and key, in the one file `folder`/client.pem, so that they always belong together.
Result<void> write_node_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// The same for the kubelet's server, in serving.pem.
Result<void> write_serving_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// What write_serving_identity() has written; empty where there is nothing like it.
KeyPair read_serving_identity(const std::filesystem::path& folder);
/// A kubeconfig that names `ca` and client.pem in `folder` by path. `server_name` is what the server is verified by; "" for its host.
std::string node_kubeconfig(const std::string& server, const std::filesystem::path& ca, const std::filesystem::path& folder,
                            const std::string& server_name = "");
/// The same for `choice`, of which it writes the list of servers into `folder`, or removes one of before. Error: Io.
Result<std::string> write_server_choice(const ServerChoice& choice, const std::filesystem::path& ca, const std::filesystem::path& folder);
/// The folder whose client.pem such a kubeconfig names; nullopt for the kubeconfigs of others.
std::optional<std::filesystem::path> identity_folder(const client::Kubeconfig& kubeconfig);
/// All that a node's programs need to reach the cluster: ca.crt, client.pem and kubeconfig in `folder`, which is made.
Result<void> write_node_folder(const std::filesystem::path& folder, const ServerChoice& choice, const ClusterInfo& info,
                               const KeyPair& identity);

}  // namespace porthole::node_join
