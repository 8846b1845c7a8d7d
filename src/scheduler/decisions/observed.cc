#include "scheduler/decisions/observed.h"

#include <algorithm>
#include <set>

#include "scheduler/decisions/cluster_fixture.h"
#include "scheduler/decisions/watching_plugin.h"
#include "scheduler/framework/convert.h"
#include "scheduler/framework/extension_points.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_fixture.h"
#include "schema/json/json.h"

namespace porthole::scheduler::testing {

namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;

/// As the scheduler does when it sees them.
void count_in(Cluster& cluster, client::FakeApi& api) {
    for (const core::Namespace& one : api.list<core::Namespace>()) cluster.set_namespace(one.metadata.name, one.metadata.labels);
    for (const core::Node& node : api.list<core::Node>()) cluster.set_node(node_spec(node));
    for (const core::Pod& pod : api.list<core::Pod>()) {
        const PodRef info = std::make_shared<const PodInfo>(pod_info(pod));
        if (!info->node_name.empty())
            cluster.set_pod(info);
        else if (!info->nominated_node_name.empty())
            cluster.nominate(info, info->nominated_node_name);
    }
}

void put_all(client::FakeApi& api, const Recorded& recorded) {
    for (const schema::Value& object : recorded.objects->as_array()) put_object(api, object);
    put_object(api, recorded.pod);
}

client::NamespacedName key_of(const Recorded& recorded) {
    return {std::string(recorded.pod.string_at({"metadata", "namespace"})), std::string(recorded.pod.string_at({"metadata", "name"}))};
}

/// Of the pods of the record those that are gone, or have begun to go.
std::vector<std::string> evicted(const client::FakeApi& api, const Recorded& recorded) {
    std::vector<std::string> gone;
    for (const schema::Value& object : recorded.objects->as_array()) {
        if (object.string_at({"kind"}) != "Pod" || object.at_path({"metadata", "deletionTimestamp"})) continue;
        const client::NamespacedName key{std::string(object.string_at({"metadata", "namespace"})),
                                         std::string(object.string_at({"metadata", "name"}))};
        const auto pod = api.find<core::Pod>(key);
        if (!pod || pod->metadata.deletion_timestamp) gone.push_back(key.text());
    }
    std::ranges::sort(gone);
    return gone;
}

/// What the scheduler has written first into the status of the pod: it may try again once victims have gone.
void read_first_report(const client::FakeApi& api, const Recorded& recorded, Observed& observed) {
    const client::NamespacedName key = key_of(recorded);
    const std::string path = client::Client::path(core::Pod::kind(), key, "status");
    const auto report = std::ranges::find_if(api.requests(), [&](const auto& one) {
        return one.method == "PATCH" && one.path == path && one.body.find("PodScheduled") != std::string::npos;
    });
    if (report == api.requests().end()) return;
    const schema::Value body = schema::parse_json(report->body).value();
    const schema::Value& status = *body.find("status");
    const schema::Value& condition = status.find("conditions")->as_array().front();
    observed.decision.message = condition.string_at({"message"});
    observed.decision.is_error = condition.string_at({"reason"}) == "SchedulerError";
    if (const std::string_view node = status.string_at({"nominatedNodeName"}); !node.empty())
        observed.decision.nominations = {{.node = std::string(node), .victims = {}}};
}

}  // namespace

Observed observe_cycle(const Recorded& recorded) {
    World world;
    put_all(world.api, recorded);
    world.informers.start();
    world.loop.advance(1s);
    for (const auto& plugin : world.plugins) sim::run(world.loop, plugin->wait_for_sync()).value();
    count_in(world.cluster, world.api);

    Observed observed;
    NodeDecision notes;
    PluginCalls calls = world.configured.calls.front();
    std::map<Plugin*, std::unique_ptr<WatchingPlugin>> watching;
    const auto watch = [&](Plugin*& plugin) {
        auto& watcher = watching[plugin];
        if (!watcher) watcher = std::make_unique<WatchingPlugin>(*plugin, notes);
        plugin = watcher.get();
    };
    for (auto& filter : calls.filters) watch(filter.plugin);
    for (auto& scorer : calls.scorers) watch(scorer.plugin);

    Cycle cycle(world.cluster, calls, world.random);
    const PodRef pod = std::make_shared<const PodInfo>(pod_info(*world.api.find<core::Pod>(key_of(recorded))));
    const Decision decision = cycle.decide(*pod);
    NodeDecision& result = observed.decision = notes;
    if (decision.node) {
        observed.chosen = decision.node->name();
        if (result.feasible.empty()) result.feasible = {observed.chosen};
        std::ranges::sort(result.feasible);
        return observed;
    }
    const Diagnosis& diagnosis = decision.diagnosis;
    result.message = diagnosis.text();
    result.is_error = !diagnosis.error.empty();
    if (result.is_error || diagnosis.node_count == 0) return observed;
    const PostFilter helped = run_post_filters(cycle.calls(), pod, diagnosis, cycle);
    if (!helped.message.empty()) result.message += " " + helped.message;
    if (helped.nominated_node.empty()) return observed;
    world.loop.advance(1s);
    result.nominations = {{helped.nominated_node, evicted(world.api, recorded)}};
    return observed;
}

Observed observe_scheduler(const Recorded& recorded) {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    const Logger log{make_null_sink(), "scheduler"};
    client::Informers informers{{loop, client, random, log}};
    client::EventRecorder events{loop, client, log, "default-scheduler"};
    Scheduler scheduler({loop, client, informers, events, random, log});
    Scope scope{loop};

    Observed observed;
    put_all(api, recorded);
    informers.start();
    scope.spawn(scheduler.run());
    // Shorter than the first back-off.
    loop.advance(500ms);
    read_first_report(api, recorded, observed);
    if (!observed.decision.nominations.empty()) observed.decision.nominations.front().victims = evicted(api, recorded);
    if (const auto pod = api.find<core::Pod>(key_of(recorded))) observed.chosen = pod->spec.node_name;
    sim::run(loop, scope.close()).value();
    sim::run(loop, informers.close()).value();
    return observed;
}

}  // namespace porthole::scheduler::testing
