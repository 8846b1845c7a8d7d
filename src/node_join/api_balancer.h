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

/// Which servers a balancer is given: those of the command line, those that were learned before, and those that the cluster says it has.
/// A plain value.
class ServerDirectory {
public:
    explicit ServerDirectory(const std::vector<KnownServer>& remembered);
    /// What the cluster's EndpointSlices name. Nothing is not believed.
    void learn(const std::vector<std::string>& urls);

    /// What the cluster has said last; before it has said anything, all that is known.
    const std::vector<std::string>& listed() const { return listed_; }
    const std::vector<std::string>& given() const { return given_; }
    /// For the file.
    std::vector<KnownServer> with_states(const std::vector<net::BalancedServer>& servers) const;

private:
    std::vector<std::string> given_, listed_;
};

/// A node's own way to its API servers: listens where the node's kubeconfig points, on loopback, and carries the connections to a server
/// that lives. TLS is between the client and the server; this reads nothing.
///
/// The servers come from the file `servers` (server_list.h), then from the EndpointSlices of default/kubernetes. A server's health is what
/// it answers to /readyz without credentials, over a connection that is verified as the clients verify theirs. At most 256 connections.
/// Where another program of the node has the port already, it waits until that ends, and then takes it. Lives on one loop; close() it
/// before destroying it, and before `connection`.
class ApiBalancer {
public:
    struct Context {
        AsioLoop& loop;
        FileSystem& files;
        Random& random;
        NodeConnection& connection;
        Logger log;
    };
    /// Null for a node whose kubeconfig names a server itself. Error: that of the file `servers` where the kubeconfig names the balancer's
    /// usual address, behind which there would be no one. Requires: an open connection.
    static Result<std::unique_ptr<ApiBalancer>> of_node(Context context);
    ~ApiBalancer();

    /// Listens, or goes on trying to. Call once.
    void start();
    Task<> close();

private:
    ApiBalancer(Context context, std::string folder, std::uint16_t port, std::vector<KnownServer> remembered);

    Result<void> listen();
    Task<> wait_for_port();
    Task<std::unique_ptr<net::ByteStream>> dial(std::string url);
    Task<bool> probe(std::string url);
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
