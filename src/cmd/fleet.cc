#include "fleet/fleet.h"

#include "base/result.h"
#include "base/time/time.h"
#include "cmd/commands.h"
#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/progress_flags.h"
#include "cmd/program/runtime_setup.h"
#include "fleet/stages.h"
#include "fleet/timed_model.h"
#include "kubelet/node/node_object.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/state/data_dir.h"
#include "runtime/files/file_system.h"
#include "runtime/scope.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

constexpr std::size_t MostNodes = 200'000;

struct FleetFlags {
    std::string kubeconfig, data = default_data_dir(), nodes = "100", node_cidr = "198.18.0.0/15";
    std::string cpu = "32", memory = "256Gi", pods = "110", storage = "1Ti";
    std::vector<std::string> labels, taints;
    std::string start_after = "1s", stop_after = "1s", complete_after = "10s", lease_period = "10s", status_period = "5m";
    std::string stages;
    bool delete_nodes = false, verbose = false;
    fleet::FleetPlanOptions plan;
    fleet::PodTimes times;
    fleet::HeartbeatOptions heartbeat;
    ProgressFlags output;
};

Result<std::size_t> parse_count(std::string_view text) {
    const bool digits = !text.empty() && text.size() <= 6 && text.find_first_not_of("0123456789") == text.npos;
    const std::size_t count = digits ? std::stoul(std::string(text)) : MostNodes + 1;
    if (count > MostNodes) return Error(Reason::BadRequest, "");
    return count;
}

/// "1000", or "linux=700,windows=300" as for `up`.
Result<void> parse_nodes(const std::string& text, fleet::FleetPlanOptions& plan) {
    const Error wrong(Reason::BadRequest, "--nodes: \"" + text + "\" must look like 1000 or linux=700,windows=300, and be at most " +
                                              std::to_string(MostNodes));
    if (const auto all = parse_count(text)) {
        plan.linux_nodes = *all;
        return {};
    }
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const auto [system, number] = kubelet::parse_label(text.substr(at, end - at));
        const auto count = parse_count(number);
        if (!count || (system != "linux" && system != "windows")) return wrong;
        (system == "linux" ? plan.linux_nodes : plan.windows_nodes) = *count;
        at = end + 1;
    }
    return {};
}

Result<void> parse_time(const char* flag, const std::string& text, Duration& time, Duration least) {
    const auto parsed = parse_duration(text);
    if (!parsed || *parsed < least)
        return Error(Reason::BadRequest, std::string(flag) + ": \"" + text + "\" is not a valid duration; write it like 500ms or 10s" +
                                             (least > Duration::zero() ? ", at least " + format_duration(least) : ""));
    time = *parsed;
    return {};
}

Result<void> parse_times(FleetFlags& flags) {
    using namespace std::chrono_literals;
    TRY_VOID(parse_time("--pods-start-after", flags.start_after, flags.times.start_after, 0s));
    TRY_VOID(parse_time("--pods-stop-after", flags.stop_after, flags.times.stop_after, 0s));
    TRY_VOID(parse_time("--jobs-complete-after", flags.complete_after, flags.times.complete_after, 0s));
    TRY_VOID(parse_time("--heartbeat", flags.lease_period, flags.heartbeat.lease_period, 1s));
    TRY_VOID(parse_time("--report-status", flags.status_period, flags.heartbeat.status_period, 1s));
    return {};
}

Result<void> parse_capacity(FleetFlags& flags) {
    const std::pair<const char*, const std::string*> amounts[] = {
        {"cpu", &flags.cpu}, {"memory", &flags.memory}, {"pods", &flags.pods}, {"ephemeral-storage", &flags.storage}};
    for (const auto& [name, text] : amounts) {
        const auto amount = Quantity::parse(*text);
        if (!amount || amount->is_negative())
            return Error(Reason::BadRequest, "\"" + *text + "\" is not a valid amount of " + name + "; write it like 32, 500m or 256Gi");
        flags.plan.capacity[name] = *amount;
    }
    return {};
}

Result<fleet::FleetPlan> make_plan(FleetFlags& flags) {
    TRY_VOID(parse_nodes(flags.nodes, flags.plan));
    TRY(flags.plan.addresses, IpPrefix::parse(flags.node_cidr));
    for (const std::string& label : flags.labels) flags.plan.labels.insert(kubelet::parse_label(label));
    for (const std::string& text : flags.taints) {
        TRY(kubelet::core::Taint taint, kubelet::parse_taint(text));
        flags.plan.taints.push_back(std::move(taint));
    }
    TRY_VOID(parse_times(flags));
    TRY_VOID(parse_capacity(flags));
    return fleet::FleetPlan::create(flags.plan);
}

/// What --stages says, else the times of the other flags.
Result<std::unique_ptr<fleet::PodModel>> make_model(const FleetFlags& flags) {
    if (flags.stages.empty()) return std::make_unique<fleet::TimedModel>(flags.times);
    TRY(const std::string text, make_file_system()->read(flags.stages));
    auto stages = fleet::parse_stages(text);
    if (!stages) return Error(Reason::BadRequest, flags.stages + ": " + stages.error().message);
    return std::make_unique<fleet::StageModel>(std::move(*stages));
}

/// Until `stop`, or an error. Then the fleet has ended, and its nodes are deleted where that is wanted.
Task<> play(RealWorld& world, fleet::Fleet& fleet, const FleetFlags& flags, Progress& progress, Event& stop) {
    const std::string nodes = std::to_string(fleet.plan().size()) + " nodes";
    Scope scope(world.loop);
    Promise<void> registered;
    scope.spawn([](fleet::Fleet& fleet, Promise<void>& registered, Event& stop) -> Task<> {
        auto started = co_await fleet.start();
        registered.set(started);
        if (!started) stop.set();
        co_return {};
    }(fleet, registered, stop));
    progress.begin(nodes + " registered");
    scope.spawn([](fleet::Fleet& fleet, Promise<void>& registered, Progress& progress, std::string nodes) -> Task<> {
        CO_TRY_VOID(co_await registered.wait());
        progress.done(nodes + " registered");
        progress.note("their heartbeats and pods run until Ctrl-C");
        co_return co_await fleet.run();
    }(fleet, registered, progress, nodes));
    CO_TRY_VOID(co_await stop.wait());
    CO_TRY_VOID(co_await scope.close());
    if (registered.is_set()) {
        // An error, where registration has failed.
        const Result<void> started = co_await registered.wait();
        if (!started && !is_cancelled(started)) co_return started.error();
    }
    const fleet::PodCounts& pods = fleet.pods();
    progress.note(std::to_string(pods.assigned) + " pods, " + std::to_string(pods.running) + " of them running; " +
                  std::to_string(pods.steps) + " steps, " + std::to_string(fleet.missed_heartbeats()) + " heartbeats missed");
    if (!flags.delete_nodes) co_return {};
    progress.begin(nodes + " deleted");
    CO_TRY_VOID(co_await fleet.remove_nodes());
    progress.done(nodes + " deleted");
    co_return {};
}

void add_flags(CLI::App& app, FleetFlags& flags) {
    app.add_option("--kubeconfig", flags.kubeconfig,
                   "kubeconfig of an administrator (default: the cluster in --data, otherwise kubectl's)");
    app.add_option("--data", flags.data, "data directory of the cluster on this machine")->capture_default_str();
    app.add_option("--nodes", flags.nodes, "number of nodes: 1000, or linux=700,windows=300")->capture_default_str();
    app.add_option("--name-prefix", flags.plan.name_prefix,
                   "the nodes are PREFIX0, PREFIX1, …; their label porthole.dev/fleet contains the prefix, too")
        ->capture_default_str();
    app.add_option("--node-cidr", flags.node_cidr, "address range of the nodes; no program listens on these addresses")
        ->capture_default_str();
    app.add_option("--cpu", flags.cpu, "cpu of each node")->capture_default_str();
    app.add_option("--memory", flags.memory, "memory of each node")->capture_default_str();
    app.add_option("--pods", flags.pods, "maximum number of pods per node")->capture_default_str();
    app.add_option("--ephemeral-storage", flags.storage, "ephemeral storage of each node")->capture_default_str();
    app.add_option("--node-labels", flags.labels, "KEY=VALUE, in addition to a kubelet's own")->delimiter(',');
    app.add_option("--register-with-taints", flags.taints, "KEY=VALUE:EFFECT")->delimiter(',');
    app.add_option("--pods-start-after", flags.start_after, "time from a pod's assignment until it is ready")->capture_default_str();
    app.add_option("--pods-stop-after", flags.stop_after, "time from a pod's deletion until its containers end; at most its grace period")
        ->capture_default_str();
    app.add_option("--jobs-complete-after", flags.complete_after, "time that pods of Jobs run before they succeed")->capture_default_str();
    app.add_option("--stages", flags.stages, "a file of KWOK's Stage objects for pods, instead of the three times above");
    app.add_option("--heartbeat", flags.lease_period, "time between two renewals of a node's lease")->capture_default_str();
    app.add_option("--report-status", flags.status_period, "time between two reports of a node's unchanged status")->capture_default_str();
    app.add_option("--in-flight", flags.heartbeat.in_flight, "limit of concurrent requests for nodes, and the same again for pods")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_flag("--delete-nodes", flags.delete_nodes, "delete the nodes at the end");
    app.add_flag("-v,--verbose", flags.verbose, "also log retries");
    flags.output.add_flags(app);
    app.footer(
        "Examples:\n"
        "  porthole fleet --nodes 1000\n"
        "  porthole fleet --nodes linux=70,windows=30 --pods-start-after 5s --delete-nodes\n"
        "  kubectl get nodes -l porthole.dev/fleet; kubectl delete nodes -l porthole.dev/fleet=fleet");
}

}  // namespace

int run_fleet(std::vector<std::string> arguments) {
    FleetFlags flags;
    CLI::App app("Simulate many nodes against an API server: register them, send their heartbeats, simulate their pods. No container runs.",
                 "fleet");
    add_flags(app, flags);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    auto plan = make_plan(flags);
    if (!plan) return fail(plan.error().message);
    auto model = make_model(flags);
    if (!model) return fail(model.error().message);

    RealWorld world;
    auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
    if (!admin) return fail(admin.error().message);
    SystemRandom random;
    const Logger log(make_stderr_sink(flags.verbose ? LogLevel::Debug : LogLevel::Warn), "fleet");
    fleet::Fleet fleet({world.loop, (*admin)->client, random, log}, *std::move(plan), flags.heartbeat, *std::move(model));
    Progress progress(world.loop, flags.output.style());
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    return progress.end(world.run(play(world, fleet, flags, progress, stop)));
}

}  // namespace porthole::cmd
