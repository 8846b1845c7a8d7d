#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "provision/etcd_host.h"
#include "provision/etcd_roster.h"
#include "runtime/processes/process.h"

namespace porthole::provision {

/// The etcd of machines in memory. For tests.
class FakeEtcd {
public:
    /// A machine's part: it reacts to the commands of EtcdHost.
    struct Host {
        std::string version = "3.4.23", token;
        EtcdFiles files;
        bool has_keys = false, has_log = false, is_running = false, serves_objects = false, has_own_store = false;
        bool has_problem = false;  ///< its member does not come up

        /// nullopt for a command of others.
        std::optional<CommandOutput> act(const std::string& name, const std::vector<std::string>& words, const std::string& input);

    private:
        std::string answer() const;
    };

    /// "" for a script of others.
    static std::string name_of_script(const std::string& script);
    Host& at(const std::string& address) { return hosts_[address]; }
    /// What is done to its members, and which it has: "add 4", "1 2 3".
    std::vector<std::string> changes;
    std::string roster() const;
    int refusals = 0;  ///< how many of the next changes it refuses
    ConnectEtcd connect();

private:
    friend class FakeRoster;
    void begin();
    bool is_healthy(const EtcdMemberSeen& member);
    bool has_majority();

    std::map<std::string, Host> hosts_;
    std::vector<EtcdMemberSeen> members_;
    std::uint64_t last_id_ = 0;
};

}  // namespace porthole::provision
