// Nodes and clients.
#include "simulation/three_servers/faults.h"

#include "api/core_v1.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using Undo = World::Undo;

Undo lost(std::vector<SimNode*> nodes) {
    for (SimNode* node : nodes) node->kill();
    return [nodes] {
        for (SimNode* node : nodes)
            if (!node->running()) node->start();
    };
}
template <class Change>
Undo link_of(ApiLink& link, Change change) {
    change(link.faults());
    link.changed();
    return [&link] { link.heal(); };
}
template <class Change>
Undo links_of_clients(World& world, Change change) {
    for (ApiLink* link : world.client_links()) link_of(*link, change);
    return [&world] {
        for (ApiLink* link : world.client_links()) link->heal();
    };
}
std::vector<SimNode*> half_of(World& world) {
    std::vector<SimNode*> half;
    for (std::size_t i = 0; i < world.nodes().size(); i += 2) half.push_back(world.nodes()[i].get());
    return half;
}

}  // namespace

std::vector<Fault> client_faults() {
    return {
        {"a node's kubelet starts again",
         [](World& world) -> Undo {
             SimNode& node = world.any_node();
             node.kill();
             node.start();
             return [] {};
         }},
        {"a node is lost until its pods are evicted",
         [](World& world) -> Undo {
             Undo undo = lost({&world.any_node()});
             world.loop().advance(7min);
             return undo;
         }},
        {"half of the nodes are lost", [](World& world) { return lost(half_of(world)); }},
        {"all nodes are lost for two minutes",
         [](World& world) -> Undo {
             std::vector<SimNode*> all;
             for (const auto& node : world.nodes()) all.push_back(node.get());
             Undo undo = lost(all);
             world.loop().advance(2min);
             return undo;
         }},
        {"a node's kubelet stands still",
         [](World& world) -> Undo {
             SimNode& node = world.any_node();
             node.loop().pause();
             return [&node] { node.loop().resume(); };
         }},
        {"a node reaches no server",
         [](World& world) -> Undo {
             SimNode& node = world.any_node();
             node.link().cut();
             return link_of(node.link(), [](ApiLink::Faults& faults) { faults.refuses = true; });
         }},
        {"a node's requests are lost",
         [](World& world) { return link_of(world.any_node().link(), [](ApiLink::Faults& faults) { faults.loses_requests = true; }); }},
        {"a node does not get its answers",
         [](World& world) { return link_of(world.any_node().link(), [](ApiLink::Faults& faults) { faults.loses_answers = true; }); }},
        {"a node's connections break again and again",
         [](World& world) {
             SimNode& node = world.any_node();
             return world.repeat(1s, [&node] { node.link().cut(); });
         }},
        {"a node's clock is ahead",
         [](World& world) -> Undo {
             SimNode& node = world.any_node();
             node.loop().set_wall_offset(1h);
             return [&node] { node.loop().set_wall_offset({}); };
         }},
        {"a node's clock is behind",
         [](World& world) -> Undo {
             SimNode& node = world.any_node();
             node.loop().set_wall_offset(-1h);
             return [&node] { node.loop().set_wall_offset({}); };
         }},
        {"a node is deleted, and registers again",
         [](World& world) -> Undo {
             if (world.run(world.client().remove<api::core::v1::Node>({"", world.any_node().name()}))) world.add_met();
             return [] {};
         }},
        {"clients' connections break again and again",
         [](World& world) {
             return world.repeat(1s, [&world] {
                 for (ApiLink* link : world.client_links()) link->cut();
             });
         }},
        {"clients do not get their answers",
         [](World& world) { return links_of_clients(world, [](ApiLink::Faults& faults) { faults.loses_answers = true; }); }},
        {"clients' requests arrive late",
         [](World& world) { return links_of_clients(world, [](ApiLink::Faults& faults) { faults.jitter = 4s; }); }},
        {"clients do not read their watches",
         [](World& world) { return links_of_clients(world, [](ApiLink::Faults& faults) { faults.holds_watches = true; }); }},
        {"nodes do not read their watches",
         [](World& world) -> Undo {
             for (SimNode* node : half_of(world)) node->link().faults().holds_watches = true;
             return [&world] {
                 for (const auto& node : world.nodes()) node->link().heal();
             };
         }},
    };
}

}  // namespace porthole::simulation
