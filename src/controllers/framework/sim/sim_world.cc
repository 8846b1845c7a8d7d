#include "controllers/framework/sim/sim_world.h"

#include <algorithm>

#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::Event;
using api::core::v1::Pod;

struct SimWorld::Process {
    explicit Process(SimWorld& world)
        : informers({world.loop, world.client, world.random, world.log}),
          recorders(world.loop, world.client, world.log),
          context{world.loop, world.client, world.random, world.log, informers, recorders, api::registry(), world.settings},
          scope(world.loop) {}

    client::Informers informers;
    EventRecorders recorders;
    Context context;
    std::vector<std::unique_ptr<client::Controller>> controllers;
    Scope scope;
    bool started = false;
};

SimWorld::SimWorld() = default;
SimWorld::~SimWorld() { crash(); }

Context& SimWorld::context() {
    if (!process_) process_ = std::make_unique<Process>(*this);
    return process_->context;
}

void SimWorld::start(std::unique_ptr<client::Controller> controller) {
    Process& process = *process_;
    process.scope.spawn(controller->run());
    process.controllers.push_back(std::move(controller));
    if (!std::exchange(process.started, true)) process.informers.start();
    pass(1s);
}

void SimWorld::crash() {
    if (!process_) return;
    EXPECT_TRUE(sim::run(loop, process_->scope.close()));
    EXPECT_TRUE(sim::run(loop, process_->informers.close()));
    EXPECT_TRUE(sim::run(loop, process_->recorders.close()));
    process_.reset();
}

void SimWorld::kubelet() {
    for (const Pod& pod : api.list<Pod>()) {
        const client::NamespacedName key = client::key_of(pod);
        if (objects::is_terminating(pod)) {
            if (pod.metadata.finalizers.empty()) api.erase<Pod>(key);
            continue;
        }
        if (objects::is_terminal(pod) || objects::is_ready(pod)) continue;
        api.change<Pod>(key, [&](Pod& pod) {
            if (pod.spec.node_name.empty()) pod.spec.node_name = "n1";
            pod.status.phase = "Running";
        });
        set_ready(key);
    }
    pass(1s);
}

void SimWorld::set_ready(const client::NamespacedName& key, bool ready) {
    api.change<Pod>(key, [&](Pod& pod) {
        api::core::v1::PodCondition condition;
        condition.type = "Ready";
        condition.status = ready ? "True" : "False";
        objects::set_condition(pod.status.conditions, condition, Timestamp(loop.wall_now()));
    });
}

void SimWorld::set_phase(const client::NamespacedName& key, const std::string& phase) {
    api.change<Pod>(key, [&](Pod& pod) { pod.status.phase = phase; });
}

std::vector<std::string> SimWorld::events() const {
    std::vector<Event> events = api.list<Event>();
    std::ranges::sort(events, {}, [](const Event& event) { return std::stoll(event.metadata.resource_version); });
    std::vector<std::string> texts;
    for (const Event& event : events) texts.push_back(event.reason + ": " + event.message);
    return texts;
}

bool SimWorld::has_event(const std::string& text) const {
    const std::vector<std::string> all = events();
    return std::ranges::find(all, text) != all.end();
}

api::core::v1::PodTemplateSpec pod_template(const std::string& app, const std::string& image) {
    api::core::v1::PodTemplateSpec result;
    result.metadata.labels = {{"app", app}};
    auto& container = result.spec.containers.emplace_back();
    container.name = "main";
    container.image = image;
    return result;
}

}  // namespace porthole::controllers
