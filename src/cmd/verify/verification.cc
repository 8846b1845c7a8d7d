#include "cmd/verify/verification.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::cmd::verify {

using namespace std::chrono_literals;

namespace {

constexpr Duration LookAgain = 500ms;
/// A server is often ready before all nodes have its rules and names: only what fails each time has failed.
constexpr int Rounds = 3;

std::string internal_address(const core::Node& node) {
    for (const auto& address : node.status.addresses) {
        if (address.type == "InternalIP") return address.address;
    }
    return "";
}

/// Why a pod does not run, in its own words.
std::string trouble_of(const core::Pod& pod) {
    for (const auto& status : pod.status.container_statuses) {
        if (status.state.waiting && !status.state.waiting->reason.empty())
            return status.state.waiting->reason + (status.state.waiting->message.empty() ? "" : ": " + status.state.waiting->message);
    }
    if (const auto* condition = objects::find_condition(pod.status.conditions, "PodScheduled"); condition && condition->status != "True")
        return "not scheduled: " + condition->message;
    return pod.status.phase.empty() ? "not started" : "still " + pod.status.phase;
}

}  // namespace

bool Report::passed() const {
    return left_out.empty() &&
           std::ranges::all_of(outcomes, [](const auto& entry) { return entry.second || !entry.first.limitation.empty(); });
}

Verification::Verification(EventLoop& loop, client::Client& client, Random& random, VerificationOptions options, Told told)
    : loop_(loop), client_(client), options_(std::move(options)), told_(std::move(told)) {
    service_ = {.name = "all-servers",
                .namespace_ = "porthole-verify-" + std::to_string(random.next() % 100000),
                .cluster_domain = options_.cluster_domain,
                .host_port = options_.host_port};
}

Task<Report> Verification::run() {
    CO_TRY_VOID(co_await find_nodes());
    CO_TRY_VOID(co_await make_namespace());
    auto report = co_await run_in_namespace();
    told_("removing the check's objects");
    const client::NamespacedName own{"", service_.namespace_};
    const auto removed = co_await client_.remove<core::Namespace>(own);
    if (report && !removed) co_return removed.error();
    co_return report;
}

Task<Report> Verification::run_in_namespace() {
    CO_TRY_VOID(co_await start_servers());
    CO_TRY_VOID(co_await wait_for_servers());
    CO_TRY_VOID(co_await read_service());
    report_.checks = plan_checks(report_.nodes, service_, options_.outside);
    CO_TRY_VOID(co_await probe());
    co_return report_;
}

Task<> Verification::find_nodes() {
    CO_TRY(const auto nodes, co_await client_.list<core::Node>());
    for (const core::Node& node : nodes.items) {
        const auto label = node.metadata.labels.find("kubernetes.io/os");
        const auto found = node.metadata.annotations.find("flannel.alpha.coreos.com/backend-type");
        const std::string back_end = found == node.metadata.annotations.end() ? "" : found->second;
        if (!objects::is_ready(node)) {
            report_.left_out.push_back("node " + node.metadata.name + " is not Ready");
            continue;
        }
        const auto exceptions = node.metadata.annotations.find("porthole.dev/nat-exceptions");
        report_.nodes.push_back({.name = node.metadata.name,
                                 .address = internal_address(node),
                                 .windows = label != node.metadata.labels.end() && label->second == "windows",
                                 .overlay = back_end == "vxlan",
                                 .routed = back_end == "alloc",
                                 .server = "server-" + std::to_string(report_.nodes.size() + 1),
                                 .nat_exceptions = exceptions == node.metadata.annotations.end() ? std::vector<std::string>()
                                                                                                 : split_list(exceptions->second)});
    }
    if (report_.nodes.empty()) co_return Error(Reason::NotFound, "the cluster has no Ready node");
    co_return {};
}

Task<> Verification::make_namespace() {
    core::Namespace own;
    own.metadata.name = service_.namespace_;
    // Pods in the nodes' own network are part of the check.
    own.metadata.labels = {{"pod-security.kubernetes.io/enforce", "privileged"}};
    CO_TRY_VOID(co_await client_.create(std::move(own)));
    co_return {};
}

Task<> Verification::create_pod(core::Pod pod) {
    for (const MonotonicTime end = loop_.now() + 15s;;) {
        const auto made = co_await client_.create(pod);
        if (made) co_return {};
        // A new namespace has no service account yet.
        if (made.error().reason != Reason::Forbidden || loop_.now() > end) co_return made.error();
        CO_TRY_VOID(co_await loop_.sleep(LookAgain));
    }
}

Task<> Verification::start_servers() {
    told_("starting a server on each of " + std::to_string(report_.nodes.size()) + " nodes");
    std::vector<core::Service> made = services(service_);
    for (core::Service& service : made) CO_TRY_VOID(co_await client_.create(std::move(service)));
    for (const Node& node : report_.nodes) CO_TRY_VOID(co_await create_pod(server_pod(node, options_.images, service_)));
    co_return {};
}

Task<> Verification::wait_for_servers() {
    for (const MonotonicTime end = loop_.now() + options_.patience;;) {
        CO_TRY(const auto pods, co_await client_.list<core::Pod>({.namespace_ = service_.namespace_}));
        std::size_t ready = 0;
        for (const core::Pod& pod : pods.items) ready += objects::is_ready(pod) ? 1 : 0;
        if (ready == report_.nodes.size() || loop_.now() > end) {
            if (drop_unready(pods.items)) co_return {};
            co_return Error(Reason::Timeout, "no server has started: " + report_.left_out.back());
        }
        CO_TRY_VOID(co_await loop_.sleep(LookAgain));
    }
}

bool Verification::drop_unready(const std::vector<core::Pod>& pods) {
    std::vector<Node> usable;
    for (Node& node : report_.nodes) {
        const auto pod = std::ranges::find(pods, node.server, [](const core::Pod& each) { return each.metadata.name; });
        if (pod != pods.end() && objects::is_ready(*pod)) {
            node.server_ip = pod->status.pod_ip;
            usable.push_back(node);
            continue;
        }
        const std::string flag = node.windows ? "--windows-image" : "--linux-image";
        report_.left_out.push_back("node " + node.name + ": its server did not start (" + (pod == pods.end() ? "gone" : trouble_of(*pod)) +
                                   "); name another image with " + flag + ", for example " + flag +
                                   " registry.k8s.io/e2e-test-images/agnhost:2.53");
    }
    report_.nodes = std::move(usable);
    return !report_.nodes.empty();
}

Task<> Verification::read_service() {
    const client::NamespacedName key{service_.namespace_, service_.name};
    CO_TRY(const auto found, co_await client_.get<core::Service>(key));
    service_.cluster_ip = found.spec.cluster_ip;
    if (!found.spec.ports.empty()) service_.node_port = found.spec.ports.front().node_port;
    co_return {};
}

Task<> Verification::probe() {
    told_("trying " + std::to_string(report_.checks.size()) + " paths between them");
    for (int round = 1; round <= Rounds; ++round) {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < report_.checks.size(); ++i) {
            const auto outcome = report_.outcomes.find(report_.checks[i]);
            const bool failed = outcome != report_.outcomes.end() && !outcome->second && outcome->first.limitation.empty();
            if (round == 1 || failed) open.push_back(i);
        }
        if (open.empty()) break;
        if (round > 1) told_("trying the " + std::to_string(open.size()) + " that failed once more");
        CO_TRY_VOID(co_await probe_round(round, std::move(open)));
    }
    leave_out_untold();
    co_return {};
}

Task<> Verification::probe_round(int round, std::vector<std::size_t> open) {
    std::vector<std::string> names;
    for (const Node& node : report_.nodes) {
        for (const bool on_host : {false, true}) {
            std::vector<std::pair<std::size_t, Check>> own;
            for (const std::size_t i : open) {
                if (report_.checks[i].from == node.name && report_.checks[i].on_host == on_host) own.emplace_back(i, report_.checks[i]);
            }
            if (own.empty()) continue;
            core::Pod pod = prober_pod(node, on_host, options_.images, service_.namespace_, own);
            pod.metadata.name += "-" + std::to_string(round);
            names.push_back(pod.metadata.name);
            CO_TRY_VOID(co_await create_pod(std::move(pod)));
        }
    }
    CO_TRY_VOID(co_await wait_for_probers(names));
    for (const std::string& name : names) CO_TRY_VOID(co_await read_log(name));
    co_return {};
}

void Verification::leave_out_untold() {
    std::map<std::pair<std::string, bool>, std::size_t> untold;  // of a node's pods, and of the node itself
    std::erase_if(report_.checks, [&](const Check& check) {
        if (report_.outcomes.contains(check)) return false;
        ++untold[{check.from, check.on_host}];
        return true;
    });
    for (const auto& [place, count] : untold) {
        const auto node = std::ranges::find(report_.nodes, place.first, &Node::name);
        const bool by_host_process = place.second && node != report_.nodes.end() && node->windows;
        report_.left_out.push_back(
            std::to_string(count) + " attempts from " + (place.second ? "node " : "pods of node ") + place.first +
            " did not finish in time; give them more time with --timeout" +
            (by_host_process ? ", and check that the node's containerd is 1.6 or later, for HostProcess containers" : ""));
    }
}

Task<> Verification::wait_for_probers(std::vector<std::string> names) {
    for (const MonotonicTime end = loop_.now() + options_.patience;;) {
        CO_TRY(const auto pods, co_await client_.list<core::Pod>({.namespace_ = service_.namespace_}));
        std::size_t ended = 0;
        for (const core::Pod& pod : pods.items)
            ended += objects::is_terminal(pod) && std::ranges::find(names, pod.metadata.name) != names.end();
        if (ended >= names.size() || loop_.now() > end) co_return {};
        CO_TRY_VOID(co_await loop_.sleep(LookAgain));
    }
}

Task<> Verification::read_log(std::string name) {
    const auto log = co_await client_.get_raw("/api/v1/namespaces/" + service_.namespace_ + "/pods/" + name + "/log");
    if (!log) {
        if (is_cancelled(log)) co_return log.error();
        report_.left_out.push_back("pod " + name + " could not report its results: " + log.error().message);
        co_return {};
    }
    for (const auto& [number, passed] : read_answers(**log)) {
        if (number < report_.checks.size()) report_.outcomes[report_.checks[number]] = passed;
    }
    co_return {};
}

}  // namespace porthole::cmd::verify
