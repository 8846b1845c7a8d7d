#include "local_cluster/supervisor.h"

#include <signal.h>

#include "base/result.h"
#include "base/strings.h"
#include "base/version.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "local_cluster/control_plane/hardened.h"
#include "local_cluster/hosts/containerd.h"
#include "local_cluster/hosts/emulated_host.h"
#include "local_cluster/hosts/host_links.h"
#include "local_cluster/hosts/network_namespace.h"
#include "local_cluster/hosts/node_identity.h"
#include "local_cluster/processes/progress_step.h"
#include "local_cluster/teardown.h"
#include "node_join/agent_options.h"
#include "node_join/bootstrap_token.h"
#include "node_join/identity.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {

using namespace node_join;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

class NoReport final : public ProgressReport {
    void begin(const std::string&) override {}
    void done(const std::string&) override {}
    void failed(const std::string&, const std::string&) override {}
};

}  // namespace

Supervisor::Supervisor(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, Cluster cluster, ProgressReport& report, Logger log)
    : loop_(loop),
      processes_(processes),
      data_(data),
      cluster_(std::move(cluster)),
      report_(report),
      log_(std::move(log)),
      api_(loop, data, cluster_),
      control_plane_(
          {.loop = loop,
           .processes = processes,
           .report = report,
           .log = log_,
           .keep_running = [this](std::string name, NextCommand next) { children_.spawn(keep_running(std::move(name), std::move(next))); }},
          data, cluster_, api_),
      children_(loop, [this](const Error& error) { log_.error("supervision failed", {{"error", error.message}}); }) {}

Result<void> Supervisor::prepare() {
    std::error_code error;
    for (const fs::path& folder : {data_.root(), data_.logs(), data_.runtime()}) {
        fs::create_directories(folder, error);
        if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
        fs::permissions(folder, fs::perms::owner_all, error);
    }
    // Root of a pod with a user namespace has none of our rights, and reaches its file system through this folder.
    fs::permissions(data_.runtime(), fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add, error);
    cluster_.supervisor = identify(::getpid());
    cluster_.network_namespace = own_network_namespace();
    if (cluster_.options.foreign) return cluster_.save(data_);
    TRY_VOID(control_plane_.prepare());
    return cluster_.save(data_);
}

ChildCommand Supervisor::agent_command(const NodeHost& node) const {
    const ClusterOptions& options = cluster_.options;
    const fs::path folder = data_.node(node.name);
    AgentOptions agent;
    agent.data = folder.string();
    agent.kubeconfig = (folder / "kubeconfig").string();
    agent.node_name = node.name;
    agent.node_ip = node.address;
    agent.runtime_endpoint = data_.containerd_socket(node.name).string();
    agent.cni_config_folder = (folder / "cni/net.d").string();
    agent.cluster_cidr = options.cluster_cidr;
    agent.backend = options.backend;
    agent.service_cidr = options.service_cidr;
    agent.cluster_dns = options.cluster_dns;
    agent.cluster_domain = options.cluster_domain;
    agent.shared_disk = true;  // with everything else on a person's machine, which is often nearly full
    agent.cgroup_root = "/porthole-" + data_.id() + "/" + node.name;
    if (options.hardened) harden(agent, *make_file_system());
    ChildCommand command{agent_arguments(agent), data_.logs() / (node.name + "-agent.log"), "", -1};
    if (!node.network_namespace.empty()) command.network_namespace = "/run/netns/" + node.network_namespace;
    return command;
}

Task<ProcessId> Supervisor::start_process(std::string name, NextCommand next) {
    CO_TRY(const ChildCommand command, co_await next());
    CO_TRY(const ProcessId process, start_child(command));
    cluster_.processes[name] = process;
    log_.info("process started", {{"process", name}, {"pid", process.pid}});
    CO_TRY_VOID(cluster_.save(data_));
    co_return process;
}

Task<> Supervisor::keep_running(std::string name, NextCommand next) {
    Duration delay = 100ms;
    for (;;) {
        const MonotonicTime started = loop_.now();
        Result<ProcessId> process = cluster_.processes[name];
        if (!is_running(*process)) process = co_await start_process(name, next);
        if (is_cancelled(process)) co_return process.error();
        if (process) {
            CO_TRY(const std::string how, co_await wait_for_exit(loop_, *process));
            log_.warn("process ended", {{"process", name}, {"pid", process->pid}, {"how", how.empty() ? "not known" : how}});
        } else {
            log_.error("process cannot start", {{"process", name}, {"error", process.error().message}});
        }
        delay = process && loop_.now() - started > 30s ? Duration(100ms) : std::min<Duration>(delay * 2, 10s);
        CO_TRY_VOID(co_await loop_.sleep(delay));
    }
}

SystemTime Supervisor::reports_since(const std::string& process) const {
    const auto known = cluster_.processes.find(process);
    const bool runs = known != cluster_.processes.end() && is_running(known->second);
    return runs ? started_at(known->second, loop_.wall_now()) : loop_.wall_now();
}

Task<> Supervisor::bring_up(NodeHost node) { return node.is_windows() ? bring_up_windows(node) : bring_up_linux(node); }

Task<> Supervisor::join_own(EmulatedHost& host, std::string node_name) {
    CO_TRY(const std::string ca_hash, api_.pki().ca_hash());
    CO_TRY(const ApiServerProcess server, co_await api_.find_server());
    const auto url = [&](const std::string& address) { return "https://" + address + ":" + std::to_string(cluster_.options.port); };
    client::ClientConfig config{.server = url(server.address), .ca_pem = api_.pki().ca_pem};
    config.certificate_pem = api_.identity().certificate_pem;
    config.key_pem = api_.identity().key_pem;
    CO_TRY(const auto transport, client::make_http_transport(loop_, config, std::string("porthole-supervisor/") + PortholeVersion));
    client::Client client(*transport);
    // Of several servers the host learns the others from the cluster.
    const std::string target_url = cluster_.has_several_servers() ? config.server : cluster_.server_url();
    co_return co_await join_by_token(loop_, client, node_name, log_, [&](std::string token) {
        return host.join({.server = target_url, .token = std::move(token), .ca_hash = ca_hash}, cluster_.options.backend);
    });
}

Task<> Supervisor::bring_up_windows(NodeHost node) {
    EmulatedHost host(loop_, processes_, data_, node);
    std::error_code error;
    fs::create_directories(data_.node(node.name), error);
    if (error) co_return Error(Reason::Io, "cannot make " + data_.node(node.name).string() + ": " + error.message());
    scope_of(node.name).spawn(keep_running(node.name + "/winhost", always(host.command())));
    CO_TRY_VOID(co_await host.ensure_ready());
    SystemTime since = host.running_since();
    const auto& foreign = cluster_.options.foreign;
    // The servers may have another port than at the last start.
    const bool joined = host.has_joined(foreign ? std::vector{foreign->server} : cluster_.server_urls());
    // After a forced end of a rotation of the authority, which the host has not followed, it joins like a new one.
    const bool refused = !foreign && joined && is_refused(data_, node, api_.pki().ca_pem, loop_.wall_now());
    if (refused) log_.warn("the cluster refuses the node's certificate; it joins again", {{"node", node.name}});
    if (!joined || refused) {
        since = loop_.wall_now();
        if (foreign) {
            CO_TRY_VOID(co_await host.join(*foreign, cluster_.options.backend));
        } else {
            CO_TRY_VOID(co_await join_own(host, node.name));
        }
    }
    if (foreign) co_return {};  // whose state is not ours to read
    CO_TRY_VOID(co_await api_.wait_for_node(node.name, since, 2min, host.log_file()));
    co_return co_await route_to(node);
}

Task<> Supervisor::bring_up_linux(NodeHost node) {
    // An agent that runs already keeps the certificate that it has read.
    if (is_refused(data_, node, api_.pki().ca_pem, loop_.wall_now())) CO_TRY_VOID(co_await end_process(node.name + "/agent", 5s));
    CO_TRY(const KeyPair identity, api_.pki().issue_node(node.name, loop_.wall_now()));
    const NodeContainerd containerd(processes_, data_, node);
    CO_TRY_VOID(containerd.prepare());
    const fs::path folder = data_.node(node.name);
    CO_TRY_VOID(write_node_identity(folder, identity));
    const ServerChoice choice{.servers = cluster_.server_urls(),
                              .balancer_port = cluster_.has_several_servers() ? cluster_.balancer_port() : std::uint16_t{0}};
    CO_TRY(const std::string kubeconfig, write_server_choice(choice, data_.pki() / "ca.crt", folder));
    CO_TRY_VOID(write_durably(folder / "kubeconfig", kubeconfig));
    scope_of(node.name).spawn(keep_running(node.name + "/containerd", always(containerd.command())));
    NodeContainerd waiting(processes_, data_, node);
    CO_TRY_VOID(co_await waiting.ensure_ready(loop_));
    const SystemTime since = reports_since(node.name + "/agent");
    scope_of(node.name).spawn(keep_running(node.name + "/agent", always(agent_command(node))));
    CO_TRY_VOID(co_await api_.wait_for_node(node.name, since, 2min, data_.logs() / (node.name + "-agent.log")));
    co_return co_await route_to(node);
}

Task<> Supervisor::route_to(NodeHost node) {
    if (cluster_.router_address().empty()) co_return {};
    CO_TRY(const std::string said, co_await api_.pod_range(node.name));
    const auto range = check_pod_range(cluster_.options, said);
    if (!range) co_return Error(range.error()).with_context("the range of pods of node " + node.name);
    HostLinks links(processes_, data_, cluster_);
    co_return co_await links.route_pods(std::move(node), *range);
}

Task<> Supervisor::start() {
    CO_TRY_VOID(prepare());
    CO_TRY(const auto permit, co_await changing_.acquire());
    cluster_.number_hosts(data_);                        // of a cluster that an older version has made
    if (const auto taken = take_wanted_nodes(); !taken)  // what was asked of a supervisor that has died since
        log_.error("the nodes stay as they are", {{"error", taken.error().message}});
    HostLinks links(processes_, data_, cluster_);
    CO_TRY_VOID(co_await step(report_, "hosts' network", links.ensure()));
    if (!cluster_.options.foreign) CO_TRY_VOID(co_await control_plane_.start());
    auto changed = co_await converge();
    co_return end_change(std::move(changed));
}

Result<void> Supervisor::read_wanted_nodes() {
    TRY(const std::string text, read_file(data_.taken_nodes_file()));
    ClusterOptions wanted = cluster_.options;
    TRY_VOID(parse_nodes(text, wanted));
    TRY_VOID(check_resize(cluster_.options, wanted, "end it first"));
    cluster_.options = std::move(wanted);
    return cluster_.save(data_);
}

Result<void> Supervisor::take_wanted_nodes() {
    std::error_code ignored;
    fs::rename(data_.wanted_nodes_file(), data_.taken_nodes_file(), ignored);
    return path_exists(data_.taken_nodes_file()) ? read_wanted_nodes() : Result<void>();
}

void Supervisor::resize() {
    if (!stop_.is_set()) children_.spawn(apply_wanted_nodes());
}

Task<> Supervisor::apply_wanted_nodes() {
    CO_TRY(const auto permit, co_await changing_.acquire());
    auto changed = co_await change_as_wanted();
    co_return end_change(std::move(changed));
}

Task<> Supervisor::change_as_wanted() {
    CO_TRY_VOID(take_wanted_nodes());
    if (!cluster_.options.foreign) {
        CO_TRY_VOID(api_.use_current_keys());  // which sign the identities of new nodes
        CO_TRY_VOID(co_await take_back_refused_nodes());
    }
    co_return co_await converge();
}

Task<> Supervisor::take_back_refused_nodes() {
    bool any = false;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        if (!up_.contains(node.name) || !is_refused(data_, node, api_.pki().ca_pem, loop_.wall_now())) continue;
        any = true;
        CO_TRY_VOID(co_await forget(node.name));
    }
    // The servers see changed files some seconds later, and nothing can join before.
    if (any) CO_TRY_VOID(co_await api_.wait_for_any(api_servers(data_, cluster_), 1min));
    co_return {};
}

Task<> Supervisor::converge() {
    for (NodeHost& node : cluster_.surplus_hosts(data_)) {
        const std::string name = "node " + node.name + " removed";
        CO_TRY_VOID(co_await step(report_, name, remove_host(std::move(node))));
    }
    cluster_.number_hosts(data_);
    CO_TRY_VOID(cluster_.save(data_));
    HostLinks links(processes_, data_, cluster_);
    CO_TRY_VOID(co_await links.ensure());
    std::vector<Task<>> nodes;
    std::vector<std::string> names;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        if (!up_.insert(node.name).second) continue;
        names.push_back(node.name);
        nodes.push_back(step(report_, "node " + node.name + (cluster_.options.foreign ? " joined" : " Ready"), bring_up(node)));
    }
    CO_TRY(auto results, co_await when_all(std::move(nodes)));
    std::vector<std::string> failures;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (results[i]) continue;
        CO_TRY_VOID(co_await forget(names[i]));  // the next change tries it again
        if (is_cancelled(results[i])) co_return results[i];
        failures.push_back("node " + names[i] + ": " + results[i].error().message);
    }
    if (!failures.empty()) co_return Error(Reason::Unavailable, join(failures, "\n"));
    co_return {};
}

Result<void> Supervisor::end_change(Result<void> changed) {
    if (is_cancelled(changed)) return changed;  // the next supervisor goes on with what has been taken
    // The reason first: it is read once the request has gone.
    if (!changed) TRY_VOID(write_durably(data_.failed_nodes_file(), changed.error().message + "\n"));
    std::error_code ignored;
    fs::remove(data_.taken_nodes_file(), ignored);
    return changed;
}

Scope& Supervisor::scope_of(const std::string& host) {
    std::unique_ptr<Scope>& scope = hosts_[host];
    if (!scope)
        scope =
            std::make_unique<Scope>(loop_, [this](const Error& error) { log_.error("supervision failed", {{"error", error.message}}); });
    return *scope;
}

Task<> Supervisor::forget(std::string host) {
    up_.erase(host);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) co_return {};
    const std::unique_ptr<Scope> scope = std::move(found->second);
    hosts_.erase(found);
    co_return co_await scope->close();
}

Task<> Supervisor::remove_host(NodeHost node) {
    CO_TRY_VOID(co_await forget(node.name));
    CO_TRY_VOID(co_await (node.is_windows() ? end_process(node.name + "/winhost", 45s) : end_process(node.name + "/agent", 5s)));
    CO_TRY_VOID(co_await clean_up_host(loop_, processes_, data_, node));
    CO_TRY_VOID(co_await end_process(node.name + "/containerd", 5s));
    CO_TRY_VOID(co_await remove_host_files(loop_, data_, node));
    HostLinks links(processes_, data_, cluster_);
    CO_TRY_VOID(co_await links.remove_host(node));
    if (!cluster_.options.foreign) CO_TRY_VOID(co_await api_.remove_node(node.name));
    cluster_.host_numbers.erase(node.name);
    co_return cluster_.save(data_);
}

Task<> Supervisor::serve() {
    CO_TRY_VOID(co_await stop_.wait());
    co_return co_await shut_down();
}

Task<> Supervisor::end_process(const std::string& name, Duration grace) {
    const auto known = cluster_.processes.find(name);
    if (known == cluster_.processes.end()) co_return {};
    CO_TRY_VOID(co_await stop_process(loop_, ProcessId(known->second), grace));
    cluster_.processes.erase(name);
    co_return {};
}

Task<> Supervisor::shut_down() {
    CO_TRY_VOID(co_await children_.close());
    for (const auto& [name, scope] : hosts_) CO_TRY_VOID(co_await scope->close());
    for (const NodeHost& node : cluster_.all_hosts(data_)) {
        CO_TRY_VOID(co_await (node.is_windows() ? end_process(node.name + "/winhost", 45s) : end_process(node.name + "/agent", 5s)));
    }
    CO_TRY_VOID(co_await clean_up(loop_, processes_, data_, cluster_));
    for (const NodeHost& node : cluster_.all_hosts(data_)) CO_TRY_VOID(co_await end_process(node.name + "/containerd", 5s));
    for (const std::string& name : control_plane_.processes()) CO_TRY_VOID(co_await end_process(name, 10s));
    HostLinks links(processes_, data_, cluster_);
    CO_TRY_VOID(co_await links.remove());
    cluster_.supervisor = {};
    co_return cluster_.save(data_);
}

Task<> end_cluster(AsioLoop& loop, ProcessRunner& processes, DataDir data, Cluster cluster) {
    if (is_running(cluster.supervisor)) {
        send_signal(cluster.supervisor, SIGTERM);
        const auto ended = co_await with_timeout(wait_for_exit(loop, cluster.supervisor), 2min, "the supervisor's end");
        if (!ended) co_return ended.error();
        CO_TRY(cluster, Cluster::load(data));
        if (cluster.processes.empty()) co_return {};
    }
    NoReport report;
    Supervisor supervisor(loop, processes, data, std::move(cluster), report, Logger(make_stderr_sink(LogLevel::Error), "down"));
    co_return co_await supervisor.shut_down();
}

}  // namespace porthole::local_cluster
