#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/client.h"
#include "simulation/three_servers/api_link.h"
#include "simulation/three_servers/audit.h"
#include "simulation/three_servers/sim_node.h"
#include "simulation/three_servers/sim_server.h"

namespace porthole::simulation {

/// A cluster of several servers on one etcd, with nodes, in one process under virtual time. One seed decides everything.
class World {
public:
    struct Options {
        std::uint64_t seed = 1;
        std::size_t servers = 3, members = 3, nodes = 20;
    };
    /// Of what a fault changes, the opposite.
    using Undo = std::function<void()>;

    explicit World(Options options);
    ~World();

    sim::SimLoop& loop() { return loop_; }
    Random& random() { return random_; }
    store::etcd::EtcdModel& etcd() { return etcd_; }
    Audit& audit() { return audit_; }
    std::vector<std::unique_ptr<SimServer>>& servers() { return servers_; }
    std::vector<std::unique_ptr<SimNode>>& nodes() { return nodes_; }
    std::size_t members() const { return options_.members; }
    /// An administrator's, of whichever server answers; and those of clients that stay with one server.
    client::Client& client() { return any_.client; }
    client::Client& client_of(std::size_t server) { return of_server_[server]->client; }
    /// Networks of all clients that are not nodes.
    std::vector<ApiLink*> client_links();

    SimServer& any_server() { return *servers_[random_.below(servers_.size())]; }
    SimNode& any_node() { return *nodes_[random_.below(nodes_.size())]; }
    /// The server that leads a component, or any.
    SimServer& leader_of(const std::string& component);
    /// Calls `action` every `period`, at once for the first time, until it is undone.
    Undo repeat(Duration period, std::function<void()> action);

    /// Ends every fault and has everything run.
    void heal();
    /// How often anything has met a fault: one during which this stays the same has not struck.
    std::size_t met();
    /// Of faults that act by themselves.
    void add_met() { ++met_; }
    /// "" when all servers answer.
    std::string not_ready() const;
    template <class T>
    Result<T> run(Task<T> task, Duration limit = std::chrono::minutes(5)) {
        return sim::run(loop_, std::move(task), limit);
    }

private:
    struct Visitor {
        Visitor(World& world, std::optional<std::size_t> only) : link(world.loop_, world.random_, world.addresses_, only), client(link) {}
        ApiLink link;
        client::Client client;
    };
    void listens(std::size_t server, client::Transport* transport);

    Options options_;
    sim::SimLoop loop_;
    SeededRandom random_;
    store::etcd::EtcdModel etcd_;
    Audit audit_;
    Addresses addresses_;
    std::vector<std::unique_ptr<SimServer>> servers_;
    Visitor any_;
    std::vector<std::unique_ptr<Visitor>> of_server_;
    std::vector<std::unique_ptr<SimNode>> nodes_;
    std::size_t met_ = 0;
    Scope scope_{loop_};
};

}  // namespace porthole::simulation
