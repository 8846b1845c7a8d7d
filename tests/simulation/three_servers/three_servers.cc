// three_servers HOURS [SEED [FAULT [NODES]]]: a cluster of three servers and 20 nodes for so many simulated hours, with one fault after
// another. FAULT is a part of the name of the only ones. run_simulated.py reads what it prints.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "simulation/three_servers/rounds.h"

namespace {

using namespace porthole;
using porthole::simulation::Rounds;

std::size_t count_kinds(const Rounds& rounds) {
    return static_cast<std::size_t>(std::ranges::count_if(rounds.struck(), [](const auto& kind) { return kind.second > 0; }));
}
double hours(Duration time) { return std::chrono::duration<double, std::ratio<3600>>(time).count(); }

int run(double wanted, Rounds::Options options) {
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t seed = options.world.seed;
    const std::string only = options.only;
    fmt::print("seed {}\n", seed);
    Rounds rounds(std::move(options));
    std::string wrong = rounds.start();
    for (double told = 0; wrong.empty() && hours(rounds.simulated()) < wanted;) {
        wrong = rounds.next();
        if (hours(rounds.simulated()) < told + 1 && wrong.empty()) continue;
        told = hours(rounds.simulated());
        const double real = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        fmt::print("{:.1f} simulated hours in {:.0f} s, {:.1f} s each: {} rounds, {} kinds of faults, {} changes, {} requests checked\n",
                   told, real, real / told, rounds.rounds(), count_kinds(rounds), rounds.world().audit().changes(), rounds.operations());
        std::fflush(stdout);
    }
    for (const auto& [name, times] : rounds.struck()) fmt::print("{:6} times: {}\n", times, name);
    if (wrong.empty()) return 0;
    fmt::print("seed {}, round {} ({}): {}\nrepeat: PORTHOLE_SEED={} ./run test simulated {} {}\n", seed, rounds.rounds(), rounds.last(),
               wrong, seed, hours(rounds.simulated()) + 0.1, only.empty() ? "" : '"' + only + '"');
    std::fflush(stdout);
    std::_Exit(1);  // what does not come to an end cannot be closed in order either
}

}  // namespace

int main(int count, char** arguments) {
    Rounds::Options options;
    const double wanted = count > 1 ? std::strtod(arguments[1], nullptr) : 1;
    if (count > 2) options.world.seed = std::strtoull(arguments[2], nullptr, 10);
    if (count > 3) options.only = arguments[3];
    if (count > 4) options.world.nodes = std::strtoull(arguments[4], nullptr, 10);
    if (std::getenv("PORTHOLE_VERBOSE")) options.tell = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
    return run(wanted, std::move(options));
}
