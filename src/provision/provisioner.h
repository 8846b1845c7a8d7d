#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/progress_report.h"
#include "client/client.h"
#include "provision/inventory.h"
#include "provision/machine.h"

namespace porthole::provision {

/// Settings of a run, in addition to the machines. A value.
struct ProvisionSettings {
    std::string server;   ///< API servers as the machines reach them, separated by commas
    std::string ca_hash;  ///< "sha256:…" of their authority's public key
    Payload linux_payload;
    Payload windows_payload;  ///< file "" if there is none: then Windows machines fail, with `windows_remedy`
    std::string windows_remedy;
    bool drains_before_upgrade = false;
    std::size_t parallel = 4;
    Duration ready_limit = std::chrono::minutes(5), drain_limit = std::chrono::minutes(5);
};

/// Brings the machines of a cluster to the state of a description: joins new ones, removes those no longer named, upgrades those with
/// another program, one at a time, and leaves the rest unchanged. May be repeated after any failure. Lives on `loop`; one run at a time,
/// also among processes, which the caller ensures. What the seams refer to must outlive it.
class Provisioner {
public:
    struct Seams {
        EventLoop& loop;
        client::Client& client;
        Transport& transport;
        ProgressReport& report;  ///< gets a step for each operation on a machine
    };
    Provisioner(Seams seams, ProvisionSettings settings);
    ~Provisioner();

    /// Calls `print` with what apply() would do, one line for each machine. Asks the machines, changes nothing. Error: as apply().
    Task<> plan(std::vector<MachineDescription> wanted, std::function<void(const std::string& line)> print);
    /// Errors: the report says what failed on a machine; at the end one error counts and names those machines. An upgrade that fails is
    /// rolled back and ends the run.
    Task<> apply(std::vector<MachineDescription> wanted);
    /// Deletes the tokens that an apply() which was cancelled has left.
    Task<> clean_up();

private:
    enum class Action { Nothing, Join, Upgrade };
    /// A machine of the description, and its operation.
    struct Work {
        MachineDescription wanted;
        std::unique_ptr<Machine> machine;
        MachineFacts facts;
        Action action = Action::Nothing;
    };

    Task<> survey(std::vector<MachineDescription> wanted);
    Task<> ask(Work& work);
    Result<void> check_owner(const Work& work, bool has_node) const;
    Task<> join_all();
    Task<> join(Work& work);
    Task<> join_machine(Work& work);
    Task<> join_with_token(Work& work);
    /// Completes a machine that is up to date: labels, taints, no leftovers of an upgrade, its entry.
    Task<> settle(Work& work);
    Task<> upgrade_all();
    Task<> remove_all();
    Task<> remove(MachineDescription machine);

    const Payload& payload_of(const MachineDescription& machine) const;
    const InventoryEntry* entry_of(const std::string& name) const;
    /// Reports the step; a failure is noted for the end of the run, and is not an error of the step itself.
    Task<bool> step(std::string name, std::string machine, Task<> work);
    Result<void> outcome() const;

    Seams seams_;
    const ProvisionSettings settings_;
    Inventory inventory_;
    std::map<std::string, InventoryEntry> entries_;  ///< as they were when the run began
    std::vector<std::unique_ptr<Work>> works_;       ///< machines that answered, in the description's order
    std::vector<MachineDescription> surplus_;
    std::vector<std::string> failed_;
    std::set<std::string> tokens_;  ///< that machines join with right now
};

}  // namespace porthole::provision
