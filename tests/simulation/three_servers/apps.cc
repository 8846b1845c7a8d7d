#include "simulation/three_servers/apps.h"

#include "api/apps_v1.h"
#include "api/batch_v1.h"
#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "base/result.h"
#include "controllers/job/job_status.h"
#include "objects/pods.h"
#include "schema/json/json.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using api::apps::v1::DaemonSet;
using api::apps::v1::Deployment;
using api::apps::v1::StatefulSet;
using api::batch::v1::Job;
using api::core::v1::Endpoints;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::discovery::v1::EndpointSlice;
using client::PatchType;

constexpr std::size_t Deployments = 4;
const client::ListOptions InDefault{.namespace_ = "default"};

std::string name_of(std::size_t number) { return "app-" + std::to_string(number); }

std::string manifest(const std::string& kind, const std::string& name, const std::string& spec) {
    return R"({"apiVersion":"apps/v1","kind":")" + kind + R"(","metadata":{"name":")" + name +
           R"("},"spec":{"selector":{"matchLabels":{"app":")" + name + R"("}},"template":{"metadata":{"labels":{"app":")" + name +
           R"("}},"spec":{"containers":[{"name":"main","image":"app:1"}]}})" + spec + "}}";
}

bool is_over(const Pod& pod) { return pod.status.phase == "Succeeded" || pod.status.phase == "Failed"; }

}  // namespace

Task<> Apps::create() {
    struct Entry {
        std::string path, body;
    };
    const std::string apps = "/apis/apps/v1/namespaces/default/";
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < Deployments; ++i)
        entries.push_back({apps + "deployments", manifest("Deployment", name_of(i), R"(,"replicas":3)")});
    entries.push_back({apps + "statefulsets", manifest("StatefulSet", "set", R"(,"replicas":3,"serviceName":"app-0")")});
    entries.push_back({apps + "daemonsets", manifest("DaemonSet", "agent", "")});
    entries.push_back(
        {"/api/v1/namespaces/default/services",
         R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"app-0"},"spec":{"selector":{"app":"app-0"},"ports":[{"port":80}]}})"});
    for (const Entry& entry : entries) {
        for (;;) {
            const auto made = co_await world_.client().post(entry.path, entry.body);
            if (made || made.error().reason == Reason::AlreadyExists) break;
            if (is_cancelled(made)) co_return made.error();
            CO_TRY_VOID(co_await world_.loop().sleep(1s));
        }
    }
    co_return {};
}

Task<> Apps::churn() {
    for (;;) {
        const auto changed = co_await change();
        if (is_cancelled(changed)) co_return changed.error();
        CO_TRY_VOID(co_await world_.loop().sleep(1s));
    }
}

Task<> Apps::change() {
    Random& random = world_.random();
    const std::size_t number = random.below(Deployments);
    switch (random.below(8)) {
        case 0:
            return scale(number, random.below(8));
        case 1:
            return delete_some_pod();
        case 2:
            return run_job();
        default:
            break;
    }
    // Most changes are small.
    static constexpr auto patch = [](client::Client& client, std::string name, std::string body) -> Task<> {
        CO_TRY_VOID(co_await client.patch<Deployment>({"default", name}, PatchType::StrategicMerge, body));
        co_return {};
    };
    const std::string value = std::to_string(++images_);
    if (random.below(12) == 0)
        return patch(world_.client(), name_of(number),
                     R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"app:)" + value + R"("}]}}}})");
    return patch(world_.client(), name_of(number), R"({"metadata":{"annotations":{"note":")" + value + R"("}}})");
}

Task<> Apps::scale(std::size_t number, std::uint64_t replicas) {
    CO_TRY_VOID(co_await world_.client().patch<Deployment>({"default", name_of(number)}, PatchType::Merge,
                                                           R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}"));
    co_return {};
}

Task<> Apps::delete_some_pod() {
    CO_TRY(const auto pods, co_await world_.client().list<Pod>(InDefault));
    if (pods.items.empty()) co_return {};
    const Pod& pod = pods.items[world_.random().below(pods.items.size())];
    co_return co_await world_.client().remove<Pod>({"default", pod.metadata.name});
}

Task<> Apps::run_job() {
    const std::string name = "job-" + std::to_string(++jobs_);
    CO_TRY_VOID(co_await world_.client().post(
        "/apis/batch/v1/namespaces/default/jobs",
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
            R"("},"spec":{"ttlSecondsAfterFinished":5,"completions":2,"parallelism":2,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"app:1"}]}}}})"));
    co_return {};
}

Task<std::string> Apps::difference() {
    client::Client& client = world_.client();
    CO_TRY(std::string wrong, co_await difference_of_jobs());
    if (!wrong.empty()) co_return wrong;
    CO_TRY(const auto deployments, co_await client.list<Deployment>(InDefault));
    if (deployments.items.size() != Deployments) co_return "deployments: " + std::to_string(deployments.items.size());
    for (const Deployment& one : deployments.items) {
        const auto& status = one.status;
        const auto wanted = one.spec.replicas.value_or(1);
        if (status.observed_generation != one.metadata.generation || status.replicas != wanted || status.updated_replicas != wanted ||
            status.available_replicas != wanted)
            co_return "deployment " + one.metadata.name + " wants " + std::to_string(wanted) + ": " + schema::encode_json(status);
    }
    CO_TRY(const auto set, co_await client.get<StatefulSet>({"default", "set"}));
    if (set.status.ready_replicas != 3 || set.status.observed_generation != set.metadata.generation)
        co_return "the stateful set is not ready";
    CO_TRY(const auto agents, co_await client.get<DaemonSet>({"default", "agent"}));
    if (agents.status.number_ready != static_cast<std::int32_t>(world_.nodes().size()) ||
        agents.status.desired_number_scheduled != agents.status.number_ready)
        co_return "the daemon set has " + std::to_string(agents.status.number_ready);
    co_return co_await difference_of_pods();
}

Task<std::string> Apps::difference_of_pods() {
    client::Client& client = world_.client();
    CO_TRY(const auto nodes, co_await client.list<Node>());
    std::set<std::string> alive;
    for (const Node& node : nodes.items) {
        bool ready = false;
        for (const auto& condition : node.status.conditions) ready = ready || (condition.type == "Ready" && condition.status == "True");
        if (!ready || !node.spec.taints.empty()) co_return "node " + node.metadata.name + " is not ready";
        alive.insert(node.metadata.name);
    }
    if (alive.size() != world_.nodes().size()) co_return "nodes: " + std::to_string(alive.size());
    CO_TRY(const auto pods, co_await client.list<Pod>(InDefault));
    std::map<std::string, std::int64_t> by_app;
    std::set<std::string> addresses, of_service, in_slices, in_endpoints;
    for (const Pod& pod : pods.items) {
        const auto app = pod.metadata.labels.find("app");
        if (app == pod.metadata.labels.end()) continue;  // of a Job
        if (pod.metadata.deletion_timestamp || is_over(pod)) co_return "pod " + pod.metadata.name + " is still there: " + pod.status.phase;
        if (!objects::is_ready(pod) || !alive.contains(pod.spec.node_name))
            co_return "pod " + pod.metadata.name + " is not ready: " + schema::encode_json(pod);
        ++by_app[app->second];
        if (!addresses.insert(pod.status.pod_ip).second) co_return "two pods have the address " + pod.status.pod_ip;
        if (app->second == "app-0") of_service.insert(pod.status.pod_ip);
    }
    if (by_app["agent"] != static_cast<std::int64_t>(alive.size()) || by_app["set"] != 3)
        co_return "pods of the daemon set or the stateful set";
    CO_TRY(const auto deployments, co_await client.list<Deployment>(InDefault));
    for (const Deployment& one : deployments.items)
        if (by_app[one.metadata.name] != one.spec.replicas.value_or(1)) co_return "pods of " + one.metadata.name;
    CO_TRY(const auto slices,
           co_await client.list<EndpointSlice>({.namespace_ = "default", .label_selector = "kubernetes.io/service-name=app-0"}));
    for (const EndpointSlice& slice : slices.items)
        for (const auto& endpoint : slice.endpoints) in_slices.insert(endpoint.addresses.at(0));
    if (in_slices != of_service) co_return "the endpoint slices are not those of the pods";
    CO_TRY(const auto kubernetes, co_await client.get<Endpoints>({"default", "kubernetes"}));
    if (!kubernetes.subsets.empty())
        for (const auto& address : kubernetes.subsets[0].addresses) in_endpoints.insert(address.ip);
    if (in_endpoints.size() != world_.servers().size()) co_return "endpoints of " + std::to_string(in_endpoints.size()) + " servers";
    co_return "";
}

/// Those that have ended go by themselves; those that a clock far ahead says have ended in years go only then, as in Kubernetes: someone
/// has to delete them.
Task<std::string> Apps::difference_of_jobs() {
    CO_TRY(const auto jobs, co_await world_.client().list<Job>(InDefault));
    for (const Job& job : jobs.items) {
        const auto* end = controllers::find_end(job);
        if (end && !job.metadata.deletion_timestamp && end->last_transition_time.to_system_time() > world_.loop().wall_now() + 1h)
            CO_TRY_VOID(co_await world_.client().remove<Job>({"default", job.metadata.name}, {.propagation_policy = "Background"}));
    }
    if (!jobs.items.empty())
        co_return "job " + jobs.items.front().metadata.name + " is still there: " + schema::encode_json(jobs.items.front());
    co_return "";
}

}  // namespace porthole::simulation
