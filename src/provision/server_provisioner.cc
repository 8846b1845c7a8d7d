#include "provision/server_provisioner.h"

#include <fmt/format.h>

#include <algorithm>

#include "provision/kubeconfig_file.h"
#include "provision/reported_step.h"
#include "provision/server_files.h"
#include "runtime/first_of.h"
#include "runtime/scope.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

constexpr Duration LookEvery = 1s, HoldEvery = 20s;
constexpr Duration AnswerLimit = 10s;  ///< of a server that may accept connections and do nothing more
constexpr int LooksPerEnds = 5;        ///< between two looks at the service, which need a connection by SSH
constexpr int MostEnds = 3;            ///< a server that has ended so often will not become ready

}  // namespace

ServerProvisioner::ServerProvisioner(Seams seams, ControlPlaneDescription plane, ServerSettings settings)
    : seams_(std::move(seams)), plane_(std::move(plane)), settings_(std::move(settings)) {
    if (plane_.own_etcd)
        etcd_ = std::make_unique<EtcdProvisioner>(
            EtcdProvisioner::Seams{
                .loop = seams_.loop, .transport = seams_.transport, .connect = seams_.connect_etcd, .report = seams_.report},
            plane_, settings_.new_server_token);
}
ServerProvisioner::~ServerProvisioner() = default;

Task<> ServerProvisioner::plan(std::function<void(const std::string& line)> print) {
    CO_TRY_VOID(co_await survey());
    CO_TRY_VOID(co_await meet_cluster());
    if (etcd_) CO_TRY_VOID(co_await etcd_->plan(print));
    for (const auto& work : works_) {
        const char* action = work->action == Action::Install   ? "set up"
                             : work->action == Action::Start   ? "start"
                             : work->action == Action::Upgrade ? "upgrade"
                                                               : "leave as it is:";
        print(fmt::format("{} server {}", action, work->wanted.name));
    }
    if (!credentials_) co_return {};
    CO_TRY(const auto surplus_servers, co_await surplus());
    for (const MachineDescription& machine : surplus_servers) print("remove server " + machine.name);
    co_return {};
}

Task<> ServerProvisioner::apply() {
    CO_TRY_VOID(co_await survey());
    CO_TRY_VOID(co_await hold_all());
    co_return co_await first_of(apply_held(), keep_holding());
}

/// Nodes need servers that are as described, so a host that fails ends the run.
Task<> ServerProvisioner::survey() {
    for (const MachineDescription& wanted : plane_.hosts) {
        CO_TRY(ServerFiles files, server_files(seams_.files, plane_, wanted));
        works_.push_back(std::make_unique<Work>(
            Work{.wanted = wanted, .host = ServerHost(seams_.transport, wanted.ssh), .files = std::move(files), .facts = {}}));
    }
    std::vector<Task<>> tasks;
    for (std::size_t i = 0; i < works_.size(); ++i) tasks.push_back(ask(i));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    std::string failed;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i]) continue;
        if (is_cancelled(results[i])) co_return results[i].error();
        const std::string& name = works_[i]->wanted.name;
        seams_.report.begin("machine " + name);
        seams_.report.failed("machine " + name, results[i].error().message);
        failed += (failed.empty() ? "" : ", ") + name;
    }
    if (!failed.empty()) co_return Error(Reason::Io, "failed: " + failed + "; nothing was changed, fix the cause and run it again");
    if (etcd_) CO_TRY_VOID(co_await etcd_->meet());
    for (const auto& work : works_) decide(*work);
    co_return {};
}

Task<> ServerProvisioner::ask(std::size_t host) {
    Work& work = *works_[host];
    CO_TRY(work.facts, co_await work.host.ask());
    const ServerFacts& facts = work.facts;
    if (!facts.cluster.empty() && facts.cluster != plane_.cluster)
        co_return Error(Reason::Conflict, fmt::format("the machine runs a server of the cluster {}, and this description is of {}",
                                                      facts.cluster, plane_.cluster));
    if (!facts.cluster.empty() && facts.networks != plane_.networks)
        co_return Error(Reason::Conflict, fmt::format("spec.network: a cluster's networks do not change; this one has {}", facts.networks));
    if (etcd_) CO_TRY_VOID(co_await etcd_->ask(host));
    co_return {};
}

void ServerProvisioner::decide(Work& work) {
    const ServerFacts& facts = work.facts;
    if (etcd_ && plane_.etcd.token_file.empty()) work.files[ServerTokenFile] = etcd_->server_token();
    const bool is_current = facts.program_sha256 == settings_.program.sha256 && facts.files_sha256 == digest_of(work.files);
    if (facts.cluster.empty())
        work.action = Action::Install;
    else if (!is_current || facts.has_previous)
        work.action = Action::Upgrade;
    else if (!facts.is_running)
        work.action = Action::Start;
}

/// Gets the administrator's rights from the servers that run, and sees that the kubeconfig on this machine is theirs.
Task<> ServerProvisioner::meet_cluster() {
    bool is_new = plane_.etcd.urls.empty() || plane_.own_etcd;
    for (const auto& work : works_) {
        is_new = is_new && work->facts.cluster.empty();
        if (!work->facts.is_running) continue;
        auto found = co_await work->host.credentials();
        if (is_cancelled(found)) co_return found.error();
        if (!found) continue;  // one that does not come up has to be replaced
        CO_TRY_VOID(check_kubeconfig_file(seams_.files, plane_.kubeconfig, plane_.cluster, found->ca_pem));
        if (credentials_) continue;
        credentials_ = *std::move(found);
        ready_url_ = plane_.url(work->wanted);
    }
    // A store does not move to another machine by itself: what was in it would seem to be lost.
    if (is_new) co_return check_kubeconfig_file(seams_.files, plane_.kubeconfig, plane_.cluster, "");
    co_return {};
}

Task<> ServerProvisioner::hold_all() {
    holds_ = true;
    for (const auto& work : works_) {
        auto held = co_await work->host.hold(settings_.holder);
        if (held) continue;
        if (held.error().reason == Reason::AlreadyExists)
            co_return Error(Reason::AlreadyExists, "another run for this control plane is in progress: " + held.error().message);
        co_return held;
    }
    co_return {};
}

/// Ends only if another run has the hosts. A host that cannot be reached for a while is still ours.
Task<> ServerProvisioner::keep_holding() {
    for (;;) {
        CO_TRY_VOID(co_await seams_.loop.sleep(HoldEvery));
        for (const auto& work : works_) {
            const auto held = co_await work->host.hold(settings_.holder);
            if (held) continue;
            if (is_cancelled(held)) co_return held;
            if (held.error().reason == Reason::AlreadyExists)
                co_return Error(Reason::Conflict, "another run has begun meanwhile: " + held.error().message);
        }
    }
}

Task<> ServerProvisioner::clean_up() {
    if (!std::exchange(holds_, false)) co_return {};
    for (const auto& work : works_) (void)co_await work->host.release(settings_.holder);
    co_return {};
}

/// Those that run come first: a new server of an etcd gets its keys from them, and they remember it.
Task<> ServerProvisioner::apply_held() {
    CO_TRY_VOID(co_await meet_cluster());
    if (etcd_) CO_TRY_VOID(co_await etcd_->apply());
    for (const Action action : {Action::Nothing, Action::Start, Action::Install})
        for (const auto& work : works_)
            if (work->action == action)
                CO_TRY_VOID(co_await step(
                    fmt::format("server {} {}", work->wanted.name, action == Action::Nothing ? "as described" : "ready"), bring_up(*work)));
    for (const auto& work : works_)
        if (work->action == Action::Upgrade) CO_TRY_VOID(co_await step("server " + work->wanted.name + " upgraded", upgrade(*work)));
    co_return co_await finish();
}

Task<> ServerProvisioner::bring_up(Work& work) {
    if (work.action == Action::Install) {
        CO_TRY_VOID(co_await remember(work));
        CO_TRY_VOID(co_await work.host.upload(settings_.program, work.files));
        CO_TRY_VOID(co_await work.host.place(false));
    }
    if (work.action != Action::Nothing) CO_TRY_VOID(co_await work.host.start());
    co_return co_await wait_until_ready(work);
}

Task<> ServerProvisioner::upgrade(Work& work) {
    const bool has_program = work.facts.program_sha256 == settings_.program.sha256 && !work.facts.has_previous;
    if (work.facts.has_previous) CO_TRY_VOID(co_await work.host.roll_back());
    Task<> uploading = has_program ? work.host.upload_files(work.files) : work.host.upload(settings_.program, work.files);
    CO_TRY_VOID(co_await std::move(uploading));
    auto replaced = co_await replace(work);
    if (is_cancelled(replaced)) co_return replaced;
    if (replaced) co_return co_await work.host.forget_previous();
    auto back = co_await work.host.roll_back();
    if (back) back = co_await wait_until_ready(work);
    if (is_cancelled(back)) co_return back;
    const std::string why = replaced.error().message;
    if (!back) co_return Error(Reason::Io, why + "; and the old server could not be restored: " + back.error().message);
    co_return Error(Reason::Io, why + "; the old server runs again");
}

/// From the stop on, only the new server can be ready.
Task<> ServerProvisioner::replace(Work& work) {
    CO_TRY_VOID(co_await work.host.stop());
    CO_TRY_VOID(co_await work.host.place(true));
    CO_TRY_VOID(co_await work.host.start());
    co_return co_await wait_until_ready(work);
}

Task<> ServerProvisioner::wait_until_ready(Work& work) {
    const MonotonicTime end = seams_.loop.now() + settings_.ready_limit;
    for (int looks = 1;; ++looks) {
        const auto looked = co_await look(work);
        if (looked || is_cancelled(looked)) co_return looked;
        const bool is_over = seams_.loop.now() >= end;
        if (is_over || looks % LooksPerEnds == 0) {
            const auto ends = co_await work.host.ends();
            if (is_cancelled(ends)) co_return ends.error();
            const std::string said = ends && !ends->last_words.empty() ? "; its log ends with: " + ends->last_words : "";
            if (ends && ends->count >= MostEnds) co_return Error(Reason::Io, "porthole-server ends again and again" + said);
            if (is_over)
                co_return Error(Reason::Timeout, fmt::format("the server at {} is not ready in time: {}{}", plane_.url(work.wanted),
                                                             looked.error().message, said));
        }
        CO_TRY_VOID(co_await seams_.loop.sleep(LookEvery));
    }
}

/// Whether it is ready now.
Task<> ServerProvisioner::look(Work& work) {
    if (!credentials_) {
        CO_TRY(AdminCredentials found, co_await work.host.credentials());
        CO_TRY_VOID(check_kubeconfig_file(seams_.files, plane_.kubeconfig, plane_.cluster, found.ca_pem));
        credentials_ = std::move(found);
    }
    CO_TRY(const auto transport, seams_.connect(plane_.url(work.wanted), *credentials_));
    CO_TRY(const client::ApiResponse response,
           co_await with_timeout(transport->call({.method = "GET", .path = "/readyz"}), AnswerLimit, "/readyz"));
    constexpr int Ok = 200;
    if (response.code != Ok) co_return Error(Reason::Unavailable, fmt::format("/readyz is answered with {}", response.code));
    ready_url_ = plane_.url(work.wanted);
    co_return {};
}

/// What needs an API: the inventory, the kubeconfig, and servers that are to go.
Task<> ServerProvisioner::finish() {
    ready_url_ = plane_.url(plane_.hosts.front());
    for (const auto& work : works_) CO_TRY_VOID(co_await remember(*work));
    CO_TRY(const bool is_new, write_kubeconfig_file(seams_.files, plane_.kubeconfig,
                                                    {.name = plane_.cluster,
                                                     .server = ready_url_,
                                                     .ca_pem = credentials_->ca_pem,
                                                     .certificate_pem = credentials_->certificate_pem,
                                                     .key_pem = credentials_->key_pem}));
    if (is_new) {
        const std::string name = "kubeconfig written: " + plane_.kubeconfig;
        seams_.report.begin(name);
        seams_.report.done(name);
    }
    if (etcd_) CO_TRY_VOID(co_await etcd_->remove_surplus());
    CO_TRY(const auto surplus_servers, co_await surplus());
    for (const MachineDescription& machine : surplus_servers)
        CO_TRY_VOID(co_await step("server " + machine.name + " removed", remove(machine)));
    co_return {};
}

/// In the cluster, as soon as there is one.
Task<> ServerProvisioner::remember(Work& work) {
    if (!credentials_) co_return {};
    CO_TRY(const auto transport, connect());
    client::Client api(*transport);
    Inventory inventory(api, Inventory::Servers);
    CO_TRY(const auto entries, co_await inventory.load());
    const auto found = entries.find(work.wanted.name);
    if (found != entries.end() && found->second.machine == work.wanted) co_return {};
    co_return co_await inventory.put({.machine = work.wanted});
}

Task<std::vector<MachineDescription>> ServerProvisioner::surplus() {
    CO_TRY(const auto transport, connect());
    client::Client api(*transport);
    CO_TRY(const auto entries, co_await Inventory(api, Inventory::Servers).load());
    std::vector<MachineDescription> found;
    for (const auto& [name, entry] : entries)
        if (std::ranges::none_of(plane_.hosts, [&](const MachineDescription& host) { return host.name == name; }))
            found.push_back(entry.machine);
    co_return found;
}

Task<> ServerProvisioner::remove(MachineDescription machine) {
    const bool is_renamed =
        std::ranges::any_of(plane_.hosts, [&](const MachineDescription& host) { return host.ssh.address == machine.ssh.address; });
    if (!is_renamed && plane_.etcd.urls.empty())
        co_return Error(Reason::Conflict,
                        "the servers have no etcd in common, so its data would be lost: put it back into the description");
    if (!is_renamed) {
        ServerHost host(seams_.transport, machine.ssh);
        const auto facts = co_await host.ask();
        if (!facts && facts.error().reason == Reason::Unavailable)
            co_return Error(Reason::Unavailable,
                            fmt::format("{}; if it is gone for good: kubectl -n kube-system patch configmap {} --type merge -p "
                                        "'{{\"data\":{{\"{}\":null}}}}'",
                                        facts.error().message, Inventory::Servers, machine.name));
        CO_TRY_VOID(facts);
        // Otherwise it serves another cluster by now, or none.
        if (facts->cluster == plane_.cluster) CO_TRY_VOID(co_await host.remove());
    }
    CO_TRY(const auto transport, connect());
    client::Client api(*transport);
    co_return co_await Inventory(api, Inventory::Servers).erase(machine.name);
}

Task<> ServerProvisioner::step(std::string name, Task<> work) {
    CO_TRY(const bool is_done, co_await reported_step(seams_.report, name, std::move(work)));
    co_return is_done ? Result<void>() : failed_step(name);
}

}  // namespace porthole::provision
