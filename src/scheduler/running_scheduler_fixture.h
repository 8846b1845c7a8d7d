#pragma once
#include <string>

#include "client/fake/fake_api.h"
#include "objects/conditions.h"
#include "runtime/sim/sim_loop.h"
#include "scheduler/scheduler.h"

namespace porthole::scheduler::testing {

inline api::core::v1::Node api_node(const std::string& name, const char* cpu = "4") {
    api::core::v1::Node node;
    node.metadata.name = name;
    node.metadata.labels = {{"kubernetes.io/hostname", name}};
    node.status.allocatable = {
        {"cpu", Quantity::parse(cpu).value()}, {"memory", Quantity::parse("8Gi").value()}, {"pods", Quantity::from_value(110)}};
    return node;
}

inline api::core::v1::Pod api_pod(const std::string& name, const char* cpu = "100m") {
    api::core::v1::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    pod.spec.scheduler_name = "default-scheduler";
    pod.status.phase = "Pending";
    api::core::v1::Container& container = pod.spec.containers.emplace_back();
    container.name = "main";
    container.image = "x";
    container.resources.requests = {{"cpu", Quantity::parse(cpu).value()}};
    return pod;
}

/// A scheduler that runs against `api` in virtual time.
struct RunningScheduler {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{make_null_sink(), "scheduler"};
    client::Informers informers{{loop, client, random, log}};
    client::EventRecorder events{loop, client, log, "default-scheduler"};
    Scheduler scheduler;
    Scope scope{loop};

    explicit RunningScheduler(Configuration configuration = {}, const Extenders::MakeTransport& make_transport = {})
        : scheduler({loop, client, informers, events, random, log}, std::move(configuration), make_transport) {
        informers.start();
        scope.spawn(events.run());
        scope.spawn(scheduler.run());
    }
    ~RunningScheduler() {
        sim::run(loop, scope.close()).value();
        sim::run(loop, informers.close()).value();
    }

    std::string node_of(const std::string& name) {
        const auto pod = api.find<api::core::v1::Pod>({"default", name});
        return pod ? pod->spec.node_name : "gone";
    }
    /// The reason and message of a pod that no node can take; "" for others.
    std::string why_not(const std::string& name) {
        const auto pod = api.find<api::core::v1::Pod>({"default", name});
        const auto* condition = pod ? objects::find_condition(pod->status.conditions, "PodScheduled") : nullptr;
        return condition && condition->status == "False" ? condition->reason + ": " + condition->message : "";
    }
    std::string event_of(const std::string& name, const std::string& reason) {
        for (const api::core::v1::Event& event : api.list<api::core::v1::Event>())
            if (event.involved_object.name == name && event.reason == reason) return event.type + ": " + event.message;
        return "";
    }
};

}  // namespace porthole::scheduler::testing
