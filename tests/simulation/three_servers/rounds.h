#pragma once
#include <map>
#include <string>
#include <vector>

#include "simulation/three_servers/apps.h"
#include "simulation/three_servers/faults.h"
#include "simulation/three_servers/world.h"

namespace porthole::simulation {

/// A cluster that meets one fault after another, as its seed has it, and is looked at after each.
class Rounds {
public:
    struct Options {
        World::Options world;
        std::string only = "";                              ///< a part of the name of the only fault there is
        std::function<void(const std::string&)> tell = {};  ///< what happens; empty: nothing is told
        Duration settle = std::chrono::minutes(30);         ///< for everything to be as wanted after a fault
    };
    explicit Rounds(Options options);

    /// "" when the cluster has come up.
    std::string start();
    /// What is wrong after the next fault, or "".
    std::string next();
    /// The faults of the last round.
    const std::string& last() const { return last_; }
    /// How often each has struck alone, and not only come. Of two at a time nobody knows which one was met.
    const std::map<std::string, std::size_t>& struck() const { return struck_; }
    World& world() { return world_; }
    Duration simulated() { return world_.loop().now() - MonotonicTime(std::chrono::hours(1)); }
    std::size_t operations() const { return operations_; }
    std::size_t rounds() const { return round_; }

private:
    std::string settle();
    void tell(const std::string& what);
    std::string difference();
    std::string check_watches();
    std::string check_ledger();
    World::Undo strike();
    void write_ledger();

    Options options_;
    World world_;
    Apps apps_{world_};
    std::vector<Fault> faults_, waiting_;  // each comes once before any comes again
    std::vector<std::string> present_;
    std::map<std::string, std::size_t> struck_;
    std::map<std::string, std::string> ledger_;
    std::string last_;
    std::size_t round_ = 0, operations_ = 0;
};

}  // namespace porthole::simulation
