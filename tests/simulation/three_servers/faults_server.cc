// Processes and clocks of servers.
#include "simulation/three_servers/faults.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using Undo = World::Undo;

constexpr const char *Controllers = "kube-controller-manager", *Scheduler = "kube-scheduler";

Undo nothing() {
    return [] {};
}
Undo start_again(SimServer& server) {
    return [&server] {
        if (!server.running()) server.start();
    };
}
Undo dead(SimServer& server) {
    server.kill();
    return start_again(server);
}
Undo killed(SimServer& server) {
    server.kill();
    server.start();
    return nothing();
}
Undo paused(SimServer& server) {
    server.loop().pause();
    return [&server] { server.loop().resume(); };
}
Undo clock_off(SimServer& server, Duration offset) {
    server.loop().set_wall_offset(offset);
    return [&server] { server.loop().set_wall_offset({}); };
}

}  // namespace

std::vector<Fault> server_faults() {
    return {
        {"a server is killed and starts at once", [](World& world) { return killed(world.any_server()); }},
        {"a server is dead", [](World& world) { return dead(world.any_server()); }},
        {"the leader of the controllers is dead", [](World& world) { return dead(world.leader_of(Controllers)); }},
        {"the leader of the scheduler is killed and starts at once", [](World& world) { return killed(world.leader_of(Scheduler)); }},
        {"a server is stopped in order and starts at once",
         [](World& world) {
             SimServer& server = world.any_server();
             server.stop();
             server.start();
             return nothing();
         }},
        {"a leader stops in order and stays away",
         [](World& world) {
             SimServer& server = world.leader_of(Controllers);
             server.stop();
             return start_again(server);
         }},
        {"all servers are killed at once",
         [](World& world) {
             for (const auto& server : world.servers()) server->kill();
             for (const auto& server : world.servers()) server->start();
             return nothing();
         }},
        {"only one server is left",
         [](World& world) -> Undo {
             SimServer& left = world.any_server();
             for (const auto& server : world.servers())
                 if (server.get() != &left) server->kill();
             return [&world] { world.heal(); };
         }},
        {"one server after another is stopped and started",
         [](World& world) {
             for (const auto& server : world.servers()) {
                 server->stop();
                 server->start();
                 world.loop().advance(5s);
             }
             return nothing();
         }},
        {"a server is killed while it starts, again and again",
         [](World& world) -> Undo {
             SimServer& server = world.any_server();
             server.kill();
             for (int i = 0; i < 5; ++i) {
                 server.start();
                 world.loop().advance(std::chrono::microseconds(world.random().below(20'000)));
                 server.kill();
             }
             return start_again(server);
         }},
        {"a server stands still", [](World& world) { return paused(world.any_server()); }},
        {"the leader of the controllers stands still until it is deposed",
         [](World& world) -> Undo {
             SimServer& server = world.leader_of(Controllers);
             server.loop().pause();
             world.loop().advance(20s);
             return [&server] { server.loop().resume(); };
         }},
        {"a server stands still every few seconds, for less than a lease",
         [](World& world) {
             SimServer& server = world.any_server();
             return world.repeat(3s, [&server] { server.loop().paused() ? server.loop().resume() : server.loop().pause(); });
         }},
        {"all servers stand still",
         [](World& world) -> Undo {
             for (const auto& server : world.servers()) server->loop().pause();
             return [&world] { world.heal(); };
         }},
        {"a server's clock is ahead", [](World& world) { return clock_off(world.any_server(), 90s); }},
        {"a server's clock is behind", [](World& world) { return clock_off(world.any_server(), -90s); }},
        {"the leader's clock jumps to and fro",
         [](World& world) {
             SimServer& server = world.leader_of(Controllers);
             return world.repeat(
                 4s, [&server, &world] { server.loop().set_wall_offset(std::chrono::seconds(world.random().below(600)) - 300s); });
         }},
        {"a server's clock is years ahead", [](World& world) { return clock_off(world.any_server(), 24h * 365 * 5); }},
        {"a server's clock is years behind", [](World& world) { return clock_off(world.any_server(), -24h * 365 * 5); }},
    };
}

}  // namespace porthole::simulation
