#pragma once
#include "runtime/random.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler::testing {

/// Random changes of a cluster, and pods of a few templates. A seed decides.
class Changes {
public:
    explicit Changes(std::uint64_t seed) : random_(seed) {}

    void change(Cluster& cluster) {
        const std::string name = "n" + std::to_string(random_.below(20));
        switch (random_.below(6)) {
            case 0:
                return cluster.remove_node(name);
            case 1:
                return cluster.remove_pod("uid-p" + std::to_string(random_.below(100)));
            case 2:
                return cluster.nominate(placed(some_pod("nominated"), name), name);
            case 3:
                return cluster.clear_nomination("uid-nominated");
            default:
                return cluster.set_node(some_node(name));
        }
    }
    PodInfo some_pod(const std::string& name) {
        PodInfo info =
            pod(name, 100 * static_cast<std::int64_t>(1 + random_.below(6)), (1LL << 28) * static_cast<std::int64_t>(random_.below(3)));
        info.labels = {{"app", random_.below(2) ? "web" : "db"}};
        if (random_.below(3) == 0) info.node_selector = {{"gen", "3"}};
        if (random_.below(3) == 0) info.tolerations = {{.key = "os", .exists = true}};
        if (random_.below(4) == 0) info.host_ports = {{"0.0.0.0", "TCP", 80}};
        if (random_.below(4) == 0) info.priority = 5;
        if (random_.below(4) == 0) info.anti_affinity = {term({{"app", "web"}}, "zone")}, info.affinity_text = "-web";
        if (random_.below(4) == 0)
            info.spread_constraints = {{.max_skew = 2,
                                        .topology_key = "zone",
                                        .selector = Selector::of({{"app", "db"}}),
                                        .honor_node_affinity = random_.below(2) == 0,
                                        .honor_node_taints = random_.below(2) == 0}};
        return info;
    }

private:
    NodeSpec some_node(const std::string& name) {
        NodeSpec spec = node(name, 1000 * static_cast<std::int64_t>(1 + random_.below(3)));
        spec.labels["gen"] = random_.below(2) ? "3" : "5";
        spec.labels["zone"] = std::to_string(random_.below(3));
        spec.unschedulable = random_.below(8) == 0;
        if (random_.below(4) == 0) spec.taints.push_back({"os", "windows", TaintEffect::NoSchedule});
        if (random_.below(8) == 0) spec.taints.push_back({"old", "", TaintEffect::PreferNoSchedule});
        return spec;
    }
    SeededRandom random_;
};

}  // namespace porthole::scheduler::testing
