#pragma once
#include <filesystem>
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
    std::string server;                  ///< "https://10.0.0.5:6443", or without the scheme
    std::string token;                   ///< "abcdef.0123456789abcdef"
    std::vector<std::string> ca_hashes;  ///< "sha256:<64 hex digits>" of an authority's public key
};

/// What a node may know before it has an identity.
struct ClusterInfo {
    std::string ca_pem;
    std::map<std::string, std::string> data;  ///< of kube-public/cluster-info: kubeconfig, clusterCidr, clusterDns, …
};

/// Completes the server's scheme. Error: BadRequest, one line with the remedy, for a token or a hash that cannot be one.
Result<void> check_target(JoinTarget& target);

/// Reads kube-public/cluster-info from a server that is not trusted yet. Trusts the authority that it names only if its public
/// key is one of those we were told, and the whole is signed by our token. Errors: Unauthorized otherwise; Unavailable; BadRequest.
Task<ClusterInfo> discover_cluster(AsioLoop& loop, JoinTarget target);

/// The authorities that the cluster publishes for those who join, told by a server that is trusted already. Errors: NotFound where the
/// cluster has no cluster-info; as any request.
Task<std::string> published_authority(client::Client& client);

/// A node's client certificate, asked for as the token's owner. Errors: as request_node_certificate.
Task<KeyPair> request_node_identity(AsioLoop& loop, JoinTarget target, std::string ca_pem, std::string node_name);

/// A node's certificate and key, in the one file `folder`/client.pem, so that they always belong together.
Result<void> write_node_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// The same for the kubelet's server, in serving.pem.
Result<void> write_serving_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// What write_serving_identity() has written; empty where there is nothing like it.
KeyPair read_serving_identity(const std::filesystem::path& folder);
/// A kubeconfig that names `ca` and client.pem in `folder` by path.
std::string node_kubeconfig(const std::string& server, const std::filesystem::path& ca, const std::filesystem::path& folder);
/// The folder whose client.pem such a kubeconfig names; nullopt for the kubeconfigs of others.
std::optional<std::filesystem::path> identity_folder(const client::Kubeconfig& kubeconfig);
/// All that a node's programs need to reach the cluster: ca.crt, client.pem and kubeconfig in `folder`, which is made.
Result<void> write_node_folder(const std::filesystem::path& folder, const JoinTarget& target, const ClusterInfo& info,
                               const KeyPair& identity);

}  // namespace porthole::node_join
