#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/client.h"
#include "kubelet/sim/fake_runtime.h"
#include "runtime/random.h"
#include "runtime/sim/sim_loop.h"
#include "store/memory/memory_engine.h"

namespace porthole::simulation {

/// The way to whichever server runs now: what a client sees of a server that dies and comes back at the same address.
class SwitchTransport final : public client::Transport {
public:
    void point_to(client::Transport* server) { server_ = server; }
    Task<client::ApiResponse> call(client::ApiRequest request) override;
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override;

private:
    client::Transport* server_ = nullptr;
};

/// A whole cluster in one process under virtual time: the real API server, store, controllers, scheduler and kubelets, on a
/// simulated disk and simulated container runtimes. One seed decides everything.
class SimCluster {
public:
    SimCluster(std::uint64_t seed, int nodes);
    ~SimCluster();

    /// The power of the server's machine goes: what was not synced is lost, and it starts again on what its disk kept.
    void crash_server();
    /// A kubelet ends and starts again; its containers run on meanwhile.
    void restart_kubelet(int node);
    /// One running container somewhere ends with an error.
    void kill_some_container();

    sim::SimLoop& loop() { return loop_; }
    Random& random() { return random_; }
    /// An administrator's, which survives the server's crashes.
    client::Client& client() { return client_; }
    client::Transport& transport() { return transport_; }
    /// "user verb path" of each request that the server denied to controllers and scheduler.
    const std::vector<std::string>& denials() const { return denials_; }
    int nodes() const { return static_cast<int>(nodes_.size()); }
    /// The runtime's view: containers that run, over all nodes, of pods whose name starts with `prefix`.
    std::size_t running_containers(const std::string& prefix) const;

private:
    struct Server;
    struct Node;
    void start_server();
    void stop_server();

    sim::SimLoop loop_;
    SeededRandom random_;
    sim::SimWorkerPool pool_{loop_};
    std::string account_key_;
    std::vector<std::string> denials_;
    std::shared_ptr<LogSink> denial_sink_;
    std::unique_ptr<store::MemoryDisk> disk_ = std::make_unique<store::MemoryDisk>();
    SwitchTransport transport_;
    client::Client client_{transport_};
    std::unique_ptr<Server> server_;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace porthole::simulation
