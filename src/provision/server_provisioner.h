#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress_report.h"
#include "client/client.h"
#include "provision/control_plane_description.h"
#include "provision/etcd_provisioner.h"
#include "provision/inventory.h"
#include "provision/server_host.h"
#include "runtime/files/file_system.h"

namespace porthole::provision {

/// Settings of a run, in addition to the description. A value.
struct ServerSettings {
    Payload program;
    std::string holder;            ///< names this run to others
    std::string new_server_token;  ///< of a cluster that has none yet, if its etcd is `provision`'s own
    Duration ready_limit = std::chrono::minutes(5);
};

/// Brings the hosts of a control plane to the state of a description: sets up new servers, upgrades those with another program or other
/// files, one at a time, removes those no longer named, and writes the administrator's kubeconfig. An etcd of the cluster's own comes
/// first. May be repeated after any failure. Lives on `loop`; one run at a time, also among processes: the hosts are reserved for it. What
/// the seams refer to must outlive it.
class ServerProvisioner {
public:
    /// A way to the API server at `url` with these rights.
    using Connect = std::function<Result<std::unique_ptr<client::Transport>>(const std::string& url, const AdminCredentials& rights)>;
    struct Seams {
        EventLoop& loop;
        Transport& transport;
        Connect connect;
        ConnectEtcd connect_etcd;
        FileSystem& files;
        ProgressReport& report;  ///< gets a step for each operation on a machine
    };
    ServerProvisioner(Seams seams, ControlPlaneDescription plane, ServerSettings settings);
    ~ServerProvisioner();

    /// Calls `print` with what apply() would do, one line for each host. Asks the hosts, changes nothing. Error: as apply().
    Task<> plan(std::function<void(const std::string& line)> print);
    /// Errors: the report says what failed on a host; then nothing further is done. A server that fails after an upgrade is rolled back.
    Task<> apply();
    /// Ends the reservation of the hosts.
    Task<> clean_up();

    /// The administrator's rights, and a server that was ready; after plan() only if one runs.
    const std::optional<AdminCredentials>& credentials() const { return credentials_; }
    const std::string& ready_url() const { return ready_url_; }

private:
    enum class Action { Nothing, Start, Install, Upgrade };
    /// A host of the description, and its operation.
    struct Work {
        MachineDescription wanted;
        ServerHost host;
        ServerFiles files;
        ServerFacts facts;
        Action action = Action::Nothing;
    };

    Task<> survey();
    Task<> ask(std::size_t host);
    void decide(Work& work);
    Task<> meet_cluster();
    Task<> hold_all();
    Task<> keep_holding();
    Task<> apply_held();
    Task<> bring_up(Work& work);
    Task<> upgrade(Work& work);
    Task<> replace(Work& work);
    Task<> wait_until_ready(Work& work);
    Task<> look(Work& work);
    Task<> finish();
    Task<> remember(Work& work);
    Task<std::vector<MachineDescription>> surplus();
    Task<> remove(MachineDescription machine);
    Result<std::unique_ptr<client::Transport>> connect() const { return seams_.connect(ready_url_, *credentials_); }
    Task<> step(std::string name, Task<> work);

    Seams seams_;
    const ControlPlaneDescription plane_;
    const ServerSettings settings_;
    std::vector<std::unique_ptr<Work>> works_;  ///< in the description's order
    std::unique_ptr<EtcdProvisioner> etcd_;     ///< null if there is no etcd, or another
    std::optional<AdminCredentials> credentials_;
    std::string ready_url_;
    bool holds_ = false;
};

}  // namespace porthole::provision
