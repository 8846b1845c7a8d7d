#pragma once
#include <string>
#include <vector>

#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"
#include "scheduler/cycle.h"
#include "scheduler/plugins/registry.h"

namespace porthole::scheduler::testing {

inline NodeSpec node(std::string name, std::int64_t milli_cpu = 4000, std::int64_t memory = 8LL << 30) {
    NodeSpec spec;
    spec.labels = {{"kubernetes.io/hostname", name}};
    spec.name = std::move(name);
    spec.allocatable = {.milli_cpu = milli_cpu, .memory = memory, .ephemeral_storage = 100LL << 30};
    spec.allowed_pods = 110;
    return spec;
}

inline NodeSpec labeled(NodeSpec spec, Labels labels) {
    spec.labels.merge(labels);
    return spec;
}

inline PodInfo pod(std::string name, std::int64_t milli_cpu = 0, std::int64_t memory = 0) {
    PodInfo info;
    info.namespace_ = "default";
    info.uid = "uid-" + name;
    info.scheduler_name = "default-scheduler";
    info.name = std::move(name);
    info.requests = {.milli_cpu = milli_cpu, .memory = memory};
    info.scored_milli_cpu = milli_cpu ? milli_cpu : 100;
    info.scored_memory = memory ? memory : 200LL << 20;
    info.container_count = 1;
    return info;
}

inline PodRef placed(PodInfo info, std::string node_name) {
    info.node_name = std::move(node_name);
    return std::make_shared<const PodInfo>(std::move(info));
}

inline AffinityTerm term(Labels labels, std::string topology_key, std::int32_t weight = 0) {
    return {.selector = Selector::of(labels), .namespaces = {"default"}, .topology_key = std::move(topology_key), .weight = weight};
}

/// A cluster and the plugins of the first profile of a configuration, by default all. Those that watch the API see the content of `api`
/// once the informers are started.
struct World {
    explicit World(Configuration given = {}) : configuration(std::move(given)) {}

    Configuration configuration;
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{7};
    Logger log{make_null_sink(), "scheduler"};
    client::Informers informers{{loop, client, random, log}};
    client::EventRecorder events{loop, client, log, "default-scheduler"};
    Scope scope{loop};
    Cluster cluster;
    std::vector<ClusterEvent::Kind> happened;  // events reported by plugins
    int devices_for_everybody = 0;             // of these, how many may help any pod
    ConfiguredPlugins configured = make_plugins({.context = {loop, client, informers, events, random, log},
                                                 .configuration = configuration,
                                                 .profile = configuration.profiles.front(),
                                                 .events_of = [this](const std::string&) -> client::EventRecorder& { return events; },
                                                 .cluster = cluster,
                                                 .scope = scope,
                                                 .happened =
                                                     [this](const ClusterEvent& event) {
                                                         happened.push_back(event.kind);
                                                         devices_for_everybody +=
                                                             event.kind == ClusterEvent::Kind::DevicesChanged && !event.device_claim;
                                                     }});
    PluginList& plugins = configured.plugins;
    Cycle cycle{cluster, configured.calls.front(), random, configuration.percentage_of_nodes_to_score};

    ~World() {
        sim::run(loop, scope.close()).value();
        sim::run(loop, informers.close()).value();
    }

    std::string choice(const PodInfo& info) {
        const Decision decision = cycle.decide(info);
        return decision.node ? decision.node->name() : decision.diagnosis.text();
    }
};

}  // namespace porthole::scheduler::testing
