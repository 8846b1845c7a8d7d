#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "local_cluster/control_plane/api_servers.h"
#include "node_join/pki.h"
#include "runtime/asio_loop.h"

namespace porthole::net {
class TlsClientContext;
}

namespace porthole::local_cluster {

/// The supervisor's requests to the cluster, through the first of its API servers that answers.
///
/// Its keys are those in the data directory, which the first of several servers creates, and which `porthole certs` replaces. Lives on
/// `loop`; references outlive it and its tasks.
class ClusterApi {
public:
    ClusterApi(AsioLoop& loop, const DataDir& data, const Cluster& cluster) : loop_(loop), data_(data), cluster_(cluster) {}

    /// Loads the cluster's keys. Error: NotFound if no server has created them yet.
    Result<void> use_keys();
    /// use_keys() if there are none yet, or if the authority has been rotated since: then servers refuse the ones before.
    Result<void> use_current_keys();
    /// Requires: use_keys().
    const node_join::Pki& pki() const { return pki_; }
    /// The supervisor's identity towards the API. It may only wait for nodes, remove them, and create bootstrap tokens.
    const node_join::KeyPair& identity() const { return identity_; }

    /// The first server that is ready. Error: the last one's.
    Task<ApiServerProcess> find_server();
    /// Until one of `servers` is ready. Error: Timeout, which names the log of the last one; also as soon as all end at each start.
    Task<> wait_for_any(std::vector<ApiServerProcess> servers, Duration limit);
    Task<> wait_for(ApiServerProcess server, Duration limit);
    /// Waits until the node is Ready by a report that its kubelet has made since `since`. Error: Timeout, if its object has not changed for
    /// `still`, if its program, which writes to `log`, exits at each start, or after ten minutes. The message says what the node waits for
    /// and names `log`.
    Task<> wait_for_node(std::string name, SystemTime since, Duration still, std::filesystem::path log);
    /// The node's range of pods. Error: NotFound if it has none.
    Task<std::string> pod_range(std::string name);
    /// DELETE of the Node object; success if it is not there.
    Task<> remove_node(std::string name);

private:
    /// The body of a 200. Errors: NotFound for a 404, Unavailable.
    Task<std::string> ask(ApiServerProcess server, std::string method, std::string path);
    /// Of the first server that answers.
    Task<std::string> call(std::string method, std::string path);

    AsioLoop& loop_;
    const DataDir& data_;
    const Cluster& cluster_;
    node_join::Pki pki_;
    node_join::KeyPair identity_;
    std::shared_ptr<const net::TlsClientContext> tls_;  ///< null until there are keys
};

}  // namespace porthole::local_cluster
