#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/client.h"
#include "client/informers/informer.h"
#include "net/acceptor.h"
#include "net/balancer/tcp_balancer.h"
#include "node_join/connection.h"
#include "node_join/health_probes.h"
#include "node_join/server_list.h"

namespace porthole::node_join {

/// The servers of a balancer: those of the command line, those learned before, and those that the cluster publishes. A plain value.
class ServerDirectory {
public:
    explicit ServerDirectory(const std::vector<KnownServer>& remembered);
    /// The servers in the cluster's EndpointSlices. An empty list is ignored.
    void learn(const std::vector<std::string>& urls);

    /// The cluster's last list; before the first one, all known servers.
    const std::vector<std::string>& listed() const { return listed_; }
    const std::vector<std::string>& given() const { return given_; }
    /// For the file.
    std::vector<KnownServer> with_states(const std::vector<net::BalancedServer>& servers) const;

private:
    std::vector<std::string> given_, listed_;
};

/// A node's balancer for its API servers: listens at the loopback address in the node's kubeconfig, and forwards the connections to a
/// server that is alive. TLS is between the client and the server; the balancer does not decrypt.
///
/// The servers come from the file `servers` (server_list.h), then from the EndpointSlices of default/kubernetes. A server's health is its
/// answer to /readyz without credentials, over a connection that is verified as the clients verify theirs. At most 256 connections. If
/// another program of the node uses the port, it waits until that ends, and then takes it. Lives on one loop; close() it before destroying
/// it, and before `connection`.
class ApiBalancer {
public:
    struct Context {
        AsioLoop& loop;
        FileSystem& files;
        Random& random;
        NodeConnection& connection;
        Logger log;
    };
    /// Null for a node whose kubeconfig names a server itself. Error: that of the file `servers`, if the kubeconfig names the balancer's
    /// usual address, where nothing would listen then. Requires: an open connection.
    static Result<std::unique_ptr<ApiBalancer>> of_node(Context context);
    ~ApiBalancer();

    /// Listens, or keeps trying to. Call once.
    void start();
    Task<> close();

private:
    ApiBalancer(Context context, std::string folder, std::uint16_t port, std::vector<KnownServer> remembered);

    Result<void> listen();
    Task<> wait_for_port();
    Task<std::unique_ptr<net::ByteStream>> dial(std::string url);
    Task<net::ServerHealth> probe(std::string url);
    void learn();
    void remember();

    Context context_;
    const std::string folder_;
    const std::uint16_t port_;
    client::Client client_;
    ServerDirectory directory_;
    HealthProbes probes_;
    std::string written_;
    net::TcpBalancer balancer_;
    net::Acceptor acceptor_;
    client::Informers informers_;
    Scope scope_;
};

}  // namespace porthole::node_join
