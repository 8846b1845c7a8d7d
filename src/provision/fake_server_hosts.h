#pragma once
#include <map>
#include <string>
#include <vector>

#include "client/fake/fake_api.h"
#include "provision/fake_etcd.h"
#include "provision/server_host.h"
#include "provision/transport.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::provision {

/// Linux machines in memory, identified by their address, that can run a server of the one cluster of a fake API. They react to the
/// commands of a run like real ones, and record them. For tests; lives on `loop`.
class FakeServerHosts final : public Transport {
public:
    FakeServerHosts(sim::SimLoop& loop, client::FakeApi& api) : loop_(loop), api_(api) {}

    struct State {
        bool is_reachable = true;
        std::string refusal;  ///< what the machine says to every command instead of running it
        std::string more;     ///< lines added to its answer, which win over its own
        std::string program, uploaded, previous;
        ServerFiles files, uploaded_files, previous_files;
        std::string holder;
        bool is_running = false;
        std::string broken_program;  ///< with this one no server stays
        std::string silent_program;  ///< with this one a server never answers
    };
    State& at(const std::string& address) { return states_[address]; }
    /// Whether a server there would answer /readyz with 200.
    bool is_ready(const std::string& address);
    bool is_silent(const std::string& address);
    FakeEtcd etcd;  ///< on the same machines
    /// The credentials that its machines give.
    std::string kubeconfig;
    /// Commands by short names, each with the last part of its machine's address: "2 ask".
    std::vector<std::string> names;
    std::vector<std::string> words;  ///< of all commands
    void forget_seen() { names.clear(); }
    sim::SimLoop& loop() { return loop_; }

    Task<CommandOutput> run(SshTarget target, std::string command, std::string input, Duration limit) override;
    Task<> copy(SshTarget target, std::string local, std::string remote) override;
    /// ServerProvisioner::Connect.
    Result<std::unique_ptr<client::Transport>> connect(const std::string& url);

private:
    CommandOutput act(State& state, const std::string& name, const std::vector<std::string>& words, const std::string& input);
    std::string answer(const State& state) const;

    sim::SimLoop& loop_;
    client::FakeApi& api_;
    std::map<std::string, State> states_;
};

}  // namespace porthole::provision
