// Between servers and etcd.
#include "simulation/three_servers/faults.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using Undo = World::Undo;

/// Until it is undone, when connections that are there go on.
template <class Change>
Undo link_of(SimServer& server, Change change) {
    change(server.etcd().faults());
    server.etcd().changed();
    return [&server] { server.etcd().heal(); };
}
void part(EtcdLink::Faults& faults) { faults.loses_requests = faults.loses_answers = faults.stalls_dials = true; }

}  // namespace

std::vector<Fault> network_faults() {
    return {
        {"a server is cut off from etcd, and connections outlive it", [](World& world) { return link_of(world.any_server(), part); }},
        {"a server is cut off from etcd, and connections break at its end",
         [](World& world) -> Undo {
             SimServer& server = world.any_server();
             return [&server, undo = link_of(server, part)] {
                 server.etcd().cut();
                 undo();
             };
         }},
        {"the leader is cut off from etcd", [](World& world) { return link_of(world.leader_of("kube-controller-manager"), part); }},
        {"etcd refuses a server's connections",
         [](World& world) {
             SimServer& server = world.any_server();
             server.etcd().cut();
             return link_of(server, [](EtcdLink::Faults& faults) { faults.refuses_dials = true; });
         }},
        {"a server makes no new connections to etcd",
         [](World& world) {
             SimServer& server = world.any_server();
             server.etcd().cut();
             return link_of(server, [](EtcdLink::Faults& faults) { faults.stalls_dials = true; });
         }},
        {"what a server asks etcd does not arrive",
         [](World& world) { return link_of(world.any_server(), [](EtcdLink::Faults& faults) { faults.loses_requests = true; }); }},
        {"etcd's answers to a server do not arrive",
         [](World& world) { return link_of(world.any_server(), [](EtcdLink::Faults& faults) { faults.loses_answers = true; }); }},
        {"etcd is far away",
         [](World& world) { return link_of(world.any_server(), [](EtcdLink::Faults& faults) { faults.delay = 150ms; }); }},
        {"times to etcd vary widely",
         [](World& world) -> Undo {
             for (const auto& server : world.servers()) server->etcd().faults().jitter = 400ms;
             return [&world] {
                 for (const auto& server : world.servers()) server->etcd().heal();
             };
         }},
        {"a server's connections to etcd break again and again",
         [](World& world) {
             SimServer& server = world.any_server();
             return world.repeat(700ms, [&server] { server.etcd().cut(); });
         }},
        {"connections to etcd break within a message",
         [](World& world) {
             const std::size_t after = 300 + world.random().below(20'000);
             return link_of(world.any_server(), [after](EtcdLink::Faults& faults) { faults.breaks_after = after; });
         }},
        {"bytes from etcd arrive a few at a time",
         [](World& world) {
             return link_of(world.any_server(),
                            [](EtcdLink::Faults& faults) { faults.segment = 7, faults.delay = {}, faults.jitter = {}; });
         }},
        {"all servers are cut off from etcd",
         [](World& world) -> Undo {
             for (const auto& server : world.servers()) link_of(*server, part);
             return [&world] {
                 for (const auto& server : world.servers()) server->etcd().heal();
             };
         }},
        {"two of the servers are cut off from etcd",
         [](World& world) -> Undo {
             SimServer& left = world.any_server();
             for (const auto& server : world.servers())
                 if (server.get() != &left) link_of(*server, part);
             return [&world] {
                 for (const auto& server : world.servers()) server->etcd().heal();
             };
         }},
    };
}

}  // namespace porthole::simulation
