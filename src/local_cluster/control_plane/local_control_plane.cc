#include "local_cluster/control_plane/local_control_plane.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "local_cluster/control_plane/etcd_members.h"
#include "local_cluster/control_plane/hardened.h"
#include "local_cluster/processes/progress_step.h"
#include "local_cluster/state/move_durably.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::local_cluster {

using namespace std::chrono_literals;
namespace {

constexpr Duration EtcdLimit = 1min, MoveLimit = 5min, FirstLimit = 1min, ServerLimit = 30s;
constexpr const char* LowerRevisions = "--allow-lower-revisions";

/// A first start that was cut off may have made an empty one, without a key that objects would be encrypted with.
Result<bool> has_objects_in_store(const DataDir& data) {
    if (path_exists(data.encryption_file())) return true;
    bool any = false;
    TRY_VOID(store::read_embedded_store(data.store().string(), [&](const store::Row&) -> Result<void> {
        any = true;
        return {};
    }));
    return any;
}

}  // namespace

LocalControlPlane::LocalControlPlane(Seams seams, const DataDir& data, Cluster& cluster, ClusterApi& api)
    : seams_(std::move(seams)), data_(data), cluster_(cluster), api_(api) {}

Result<void> LocalControlPlane::put_unused_etcd_away() {
    namespace fs = std::filesystem;
    if (cluster_.etcd.port != 0 || path_exists(data_.store_location())) return {};
    std::error_code error;
    fs::remove_all(data_.further_servers(), error);  // with the keys that they took from it
    if (error) return Error(Reason::Io, "cannot remove " + data_.further_servers().string() + ": " + error.message());
    if (!path_exists(data_.etcd())) return {};
    fs::remove_all(data_.unused_etcd(), error);
    return error ? Result<void>(Error(Reason::Io, "cannot remove " + data_.unused_etcd().string() + ": " + error.message()))
                 : move_durably(data_.etcd(), data_.unused_etcd());
}

Result<void> LocalControlPlane::prepare() {
    if (cluster_.options.hardened) TRY_VOID(ensure_hardened_files(data_));
    TRY_VOID(put_unused_etcd_away());
    if (!cluster_.has_several_servers()) {
        TRY(const std::string service, address_in(cluster_.options.service_cidr, 1));
        TRY_VOID(node_join::Pki::ensure(data_.pki(),
                                        {{"kubernetes", "kubernetes.default", "kubernetes.default.svc",
                                          "kubernetes.default.svc." + cluster_.options.cluster_domain, "localhost"},
                                         {cluster_.server_address(), "127.0.0.1", service}},
                                        seams_.loop.wall_now()));
        return api_.use_keys();
    }
    if (cluster_.etcd.port == 0) {
        TRY(cluster_.etcd, choose_etcd_place(data_, cluster_.options.servers));
    }
    TRY_VOID(ensure_server_token(data_));
    const auto runs = [&](const EtcdMember& member) { return is_running(cluster_.processes[member.name]); };
    if (std::ranges::any_of(etcd_members(data_, cluster_), runs)) return {};  // what an earlier supervisor has started
    return ensure_etcd_certificates(data_, cluster_, seams_.loop.wall_now());
}

Task<> LocalControlPlane::start() {
    if (cluster_.has_several_servers()) {
        CO_TRY_VOID(co_await start_etcd());
        if (path_exists(data_.store() / "store.db")) CO_TRY_VOID(co_await step(seams_.report, "objects moved to etcd", move_objects()));
    }
    co_return co_await start_servers();
}

Task<> LocalControlPlane::start_etcd() {
    const std::vector<EtcdMember> members = etcd_members(data_, cluster_);
    std::vector<EtcdMember> lost;
    std::vector<std::string> names;
    for (const EtcdMember& member : members) {
        if (is_running(cluster_.processes[member.name]) || !has_lost_data(data_, member)) continue;
        lost.push_back(member);
        names.push_back(member.name);
    }
    if (2 * lost.size() >= members.size()) {
        const Error error(Reason::NotFound, "the data of " + join(names, " and ") + " are missing in " + data_.etcd().string() +
                                                ": put them back, or restore a backup, after `porthole down --purge" + data_.flag() + "`");
        seams_.report.failed("etcd ready", error.message);
        co_return error;
    }
    for (const EtcdMember& member : members) seams_.keep_running(member.name, [this, member] { return next_command_of(member); });
    CO_TRY_VOID(co_await step(seams_.report, "etcd ready", wait_for_one_of(members)));
    for (const EtcdMember& member : lost) {
        const auto replaced = co_await step(seams_.report, member.name + " replaced", wait_for_one_of({member}));
        if (is_cancelled(replaced)) co_return replaced;  // without it the others go on
    }
    co_return {};
}

Task<ChildCommand> LocalControlPlane::next_command_of(EtcdMember member) {
    EtcdPeers peers{.members = etcd_members(data_, cluster_)};
    if (has_lost_data(data_, member)) {
        seams_.log.warn("the data of a member of etcd are missing, and it is replaced",
                        {{"member", member.name}, {"data", member.data.string()}});
        CO_TRY(peers, co_await readmit_etcd_member(seams_.loop, data_, cluster_, member));
    }
    co_return etcd_command(data_, member, peers);
}

Task<> LocalControlPlane::wait_for_one_of(std::vector<EtcdMember> members) {
    const MonotonicTime deadline = seams_.loop.now() + EtcdLimit;
    for (;;) {
        std::string why_not;
        for (const EtcdMember& member : members) {
            CO_TRY(const EtcdHealth health, co_await ask_etcd_member(seams_.loop, data_, member));
            if (health.healthy) co_return {};
            why_not = member.name + ": " + health.why_not + "; see " + (data_.logs() / (member.name + ".log")).string();
        }
        if (seams_.loop.now() > deadline)
            co_return Error(Reason::Timeout, why_not + (members.size() > 1 ? " and those of the others" : ""));
        CO_TRY_VOID(co_await seams_.loop.sleep(100ms));
    }
}

Task<> LocalControlPlane::move_objects() {
    // A move that was cut off after its end has said where the objects are.
    const bool arrived = path_exists(data_.store_location());
    if (arrived) {
        CO_TRY(const std::string where, read_file(data_.store_location()));
        if (!where.starts_with(join(etcd_urls(data_, cluster_), ",") + ", "))
            co_return Error(Reason::Conflict, "the objects are in an etcd that is not the cluster's own (" + std::string(trim(where)) +
                                                  "): move them with `porthole store migrate --to data-dir` first");
    } else {
        CO_TRY(const bool has_objects, has_objects_in_store(data_));
        if (has_objects) CO_TRY_VOID(co_await copy_objects());
    }
    co_return move_durably(data_.store(), data_.former_store());
}

Task<> LocalControlPlane::copy_objects() {
    std::vector<std::string> arguments{own_program().string(), "store", "migrate", "--to", "etcd", "--data", data_.root().string()};
    const std::vector<std::string> flags = etcd_client_flags(data_, cluster_);
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    CO_TRY(CommandOutput moved, co_await seams_.processes.run({.arguments = arguments, .limit = MoveLimit}));
    if (moved.errors.contains(LowerRevisions)) {
        // After a restore, etcd cannot be raised to the objects' revision. No client of this machine's is older than this start.
        arguments.push_back(LowerRevisions);
        CO_TRY(moved, co_await seams_.processes.run({.arguments = arguments, .limit = MoveLimit}));
    }
    if (moved.exit_code != 0) co_return Error(Reason::Unavailable, std::string(trim(moved.errors)));
    co_return {};
}

void LocalControlPlane::run(const ApiServerProcess& server) {
    seams_.keep_running(server.name, always(api_server_command(data_, cluster_, server)));
}

Task<> LocalControlPlane::start_servers() {
    const std::vector<ApiServerProcess> servers = api_servers(data_, cluster_);
    // The first one makes the cluster's keys, which the supervisor reads in its data directory: the others come when it has shared them.
    const bool have_keys = servers.size() == 1 || path_exists(servers.back().data.pki());
    run(servers.front());
    if (!have_keys) CO_TRY_VOID(co_await step(seams_.report, "first API server ready", api_.wait_for(servers.front(), FirstLimit)));
    for (std::size_t further = 1; further < servers.size(); ++further) run(servers[further]);
    CO_TRY_VOID(co_await step(seams_.report, "control plane ready", api_.wait_for_any(servers, ServerLimit)));
    if (servers.size() > 1) {
        const std::string name = "all " + std::to_string(servers.size()) + " API servers ready";
        const auto all = co_await step(seams_.report, name, wait_for_all());
        if (is_cancelled(all)) co_return all;
        if (!all) seams_.log.warn("the cluster starts without one of its servers", {{"error", all.error().message}});
    }
    co_return {};
}

Task<> LocalControlPlane::wait_for_all() {
    for (const ApiServerProcess& server : api_servers(data_, cluster_)) CO_TRY_VOID(co_await api_.wait_for(server, ServerLimit));
    co_return {};
}

std::vector<std::string> LocalControlPlane::processes() const {
    std::vector<std::string> names;
    for (const ApiServerProcess& server : api_servers(data_, cluster_)) names.push_back(server.name);
    for (const EtcdMember& member : etcd_members(data_, cluster_)) names.push_back(member.name);
    return names;
}

}  // namespace porthole::local_cluster
