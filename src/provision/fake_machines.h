#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/fake/fake_api.h"
#include "provision/transport.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::provision {

/// Linux machines in memory, identified by their address, and their nodes in a fake API. They react to the commands of a run like real
/// ones, and record all of them. For tests; lives on `loop`.
class FakeMachines final : public Transport {
public:
    FakeMachines(sim::SimLoop& loop, client::FakeApi& api) : loop_(loop), api_(api) {}

    struct State {
        bool is_reachable = true, has_runtime = true;
        std::string program, uploaded, previous;  ///< hashes; "" for none
        std::string server, node;                 ///< that it has joined
        bool is_running = false;
        std::string broken_program;  ///< with this one no agent becomes Ready
        bool refuses_to_join = false;
        bool is_full = false;  ///< its disk is full: copies fail
        int copies = 0;
    };
    struct Seen {
        std::string address;
        std::vector<std::string> words;  ///< as the machine's shell gets them, without sudo and timeout
        std::string input;
        bool is_by_sudo = false;
        int seconds = 0;  ///< after which the machine itself ends the command; 0 for never
    };

    State& at(const std::string& address) { return states_[address]; }
    const std::vector<Seen>& seen() const { return seen_; }
    /// The commands by short names: "ask", "unpack", "place", "place keep", "join", "stop", "start", "roll back", "forget", "remove",
    /// "clean up".
    std::vector<std::string> names(const std::string& address) const;
    void forget_seen() { seen_.clear(); }
    int most_at_a_time() const { return most_; }

    Task<CommandOutput> run(SshTarget target, std::string command, std::string input, Duration limit) override;
    Task<> copy(SshTarget target, std::string local, std::string remote) override;

private:
    CommandOutput act(State& state, const Seen& seen);
    CommandOutput answer(const State& state) const;
    void start(State& state);

    sim::SimLoop& loop_;
    client::FakeApi& api_;
    std::map<std::string, State> states_;
    std::vector<Seen> seen_;
    int running_ = 0, most_ = 0;
};

/// The words into which a POSIX shell splits the text of quote_for_shell().
std::vector<std::string> shell_words(const std::string& text);

}  // namespace porthole::provision
