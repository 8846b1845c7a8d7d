#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/api_server.h"
#include "net/child_task.h"
#include "simulation/three_servers/etcd_link.h"
#include "simulation/three_servers/process_loop.h"
#include "store/etcd/sim/etcd_model.h"

namespace porthole::simulation {

/// The machine of a server on a shared etcd: its process, which is the real API server with the real controllers and scheduler behind
/// leader election, its clock and its network to etcd. A process that cannot start is started again after a second, as by systemd.
class SimServer {
public:
    struct Setting {
        sim::SimLoop& loop;
        store::etcd::EtcdModel& etcd;
        std::string account_key_pem;  ///< shared by all servers
        std::shared_ptr<LogSink> log;
        std::function<void(client::Transport*)> listens;  ///< null when it does not any more
    };
    SimServer(Setting setting, std::size_t number, std::uint64_t seed);
    ~SimServer();

    void start();
    /// As kill -9 and as SIGTERM. They end when the process has ended; nothing if it does not run.
    void kill() { end(false); }
    void stop() { end(true); }
    bool running() const { return main_.running() || open_; }
    bool ready() const { return ready_; }

    ProcessLoop& loop() { return process_; }
    EtcdLink& etcd() { return etcd_link_; }
    const std::string& address() const { return address_; }
    /// Whether it believes that it leads "kube-scheduler" or "kube-controller-manager".
    bool leads(const std::string& component) const;
    /// What the Leases name while it leads.
    std::string identity() const;
    /// How often its process has been ended, or it or its connections met another fault.
    std::size_t met() const { return ends_ + process_.met() + etcd_link_.met(); }

private:
    struct Process;
    Task<> serve();
    Task<> open();
    Task<> close(bool in_order);
    void end(bool in_order);

    Setting setting_;
    std::string address_;
    SeededRandom random_;
    ProcessLoop process_;
    ProcessPool pool_{process_};
    EtcdLink etcd_link_;
    std::unique_ptr<Process> up_;
    net::ChildTask main_{process_};
    bool ready_ = false, open_ = false;
    std::size_t ends_ = 0;
};

}  // namespace porthole::simulation
