#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node_join/key_pair.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}  // namespace porthole
namespace porthole::client {
class Client;
class Kubeconfig;
class Transport;
struct ClientConfig;
}  // namespace porthole::client

namespace porthole::node_join {

/// The cluster to join, and how it is verified: the command line of `join`.
struct JoinTarget {
    std::vector<std::string> servers;    ///< "https://10.0.0.5:6443", or without the scheme; each is tried
    std::string token;                   ///< "abcdef.0123456789abcdef"
    std::vector<std::string> ca_hashes;  ///< "sha256:<64 hex digits>" of an authority's public key
};

/// The information that a node may have before it has an identity.
struct ClusterInfo {
    std::string server;  ///< the one that has answered
    std::string ca_pem;
    std::map<std::string, std::string> data;  ///< of kube-public/cluster-info: kubeconfig, clusterCidr, clusterDns, …
};

/// Completes the servers' scheme. Error: BadRequest, one line with the remedy, for a token or a hash that cannot be one.
Result<void> check_target(JoinTarget& target);

/// Reads kube-public/cluster-info from the first server that answers, none of which is trusted yet. Trusts the authority in it only if its
/// public key is one of the given ones, and the whole is signed with our token. Errors: Unauthorized otherwise; Unavailable if none
/// answers; BadRequest; Timeout if the server accepts the token, but the cluster's controllers have not signed with it.
Task<ClusterInfo> discover_cluster(AsioLoop& loop, JoinTarget target);
/// The same, through transports that `connect` makes.
using Connector = std::function<Result<std::unique_ptr<client::Transport>>(const client::ClientConfig&)>;
Task<ClusterInfo> discover_cluster(EventLoop& loop, JoinTarget target, Connector connect);

/// The authorities that the cluster publishes for joining nodes, from a server that is already trusted. Errors: NotFound if the cluster has
/// no cluster-info; as any request.
Task<std::string> published_authority(client::Client& client);

/// A node's client certificate, requested as the token's owner. Errors: as request_node_certificate.
Task<KeyPair> request_node_identity(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::string node_name);

/// The servers behind a node's own address, by which its kubeconfig names them all.
struct ServerChoice {
    std::vector<std::string> servers;  ///< URLs
    std::uint16_t balancer_port = 0;   ///< of the node's loopback address; 0 to name the first server itself
};
/// How the node will reach the cluster: through its balancer, unless `port` is 0 or the server's certificate lacks the name by which it
/// would be verified then; `why_not` is called with that reason.
Task<ServerChoice> choose_servers(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::uint16_t port,
                                  std::function<void(const std::string&)> why_not);

/// A node's certificate and key are in a single file, so that they always match.
inline constexpr const char* IdentityFile = "client.pem";
/// Writes that file into `folder`.
Result<void> write_node_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// The same for the kubelet's server, in serving.pem.
Result<void> write_serving_identity(const std::filesystem::path& folder, const KeyPair& identity);
/// The result of write_serving_identity(); empty if there is none.
KeyPair read_serving_identity(const std::filesystem::path& folder);
/// Whether a cluster with these authorities accepts what is in an IdentityFile: a certificate that has neither expired nor another
/// authority. The text may be anything.
bool is_accepted_identity(const std::string& identity, const std::string& ca_pem, SystemTime now);
/// A kubeconfig that names `ca` and client.pem in `folder` by path. `server_name` is the name by which the server is verified; "" for its
/// host.
std::string node_kubeconfig(const std::string& server, const std::filesystem::path& ca, const std::filesystem::path& folder,
                            const std::string& server_name = "");
/// The same for `choice`, whose list of servers is written into `folder`; without one, an earlier list is removed. Error: Io.
Result<std::string> write_server_choice(const ServerChoice& choice, const std::filesystem::path& ca, const std::filesystem::path& folder);
/// The directory of the client.pem that such a kubeconfig names; nullopt for other kubeconfigs.
std::optional<std::filesystem::path> identity_folder(const client::Kubeconfig& kubeconfig);
/// Everything that a node's programs need to reach the cluster: ca.crt, client.pem and kubeconfig in `folder`, which is created.
Result<void> write_node_folder(const std::filesystem::path& folder, const ServerChoice& choice, const ClusterInfo& info,
                               const KeyPair& identity);

}  // namespace porthole::node_join
