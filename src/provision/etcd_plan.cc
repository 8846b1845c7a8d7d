#include "provision/etcd_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace porthole::provision {

const char* const SealedBootstrap = "ETCD_INITIAL_CLUSTER_STATE=existing\n";
namespace {

using Kind = EtcdStep::Kind;
using Step = std::optional<EtcdStep>;

std::string bootstrap(const std::vector<std::string>& addresses, const char* state) {
    const auto entry = [](const std::string& address) { return fmt::format("{0}=https://{0}:2380", address); };
    return fmt::format("ETCD_INITIAL_CLUSTER={}\nETCD_INITIAL_CLUSTER_STATE={}\n", join(addresses, ",", entry), state);
}

const EtcdMemberSeen* member_of(const EtcdSeen& seen, const std::string& address) {
    const auto found = std::ranges::find(seen.members, address, &EtcdMemberSeen::address);
    return found == seen.members.end() ? nullptr : &*found;
}

EtcdHostSeen* host_at(EtcdSeen& seen, const std::string& address) {
    const auto found = std::ranges::find(seen.hosts, address, &EtcdHostSeen::address);
    return found == seen.hosts.end() ? nullptr : &*found;
}

bool is_described(const EtcdSeen& seen, const EtcdMemberSeen& member) {
    return std::ranges::find(seen.hosts, member.address, &EtcdHostSeen::address) != seen.hosts.end();
}

/// Whether the healthy voters other than `address` are more than half of `voters`.
bool is_majority_without(const EtcdSeen& seen, const std::string& address, std::size_t voters) {
    const auto counts = [&](const EtcdMemberSeen& member) { return !member.is_learner && member.is_healthy && member.address != address; };
    return 2 * static_cast<std::size_t>(std::ranges::count_if(seen.members, counts)) > voters;
}

std::size_t voters(const EtcdSeen& seen) {
    return static_cast<std::size_t>(std::ranges::count(seen.members, false, &EtcdMemberSeen::is_learner));
}

/// A member that is away for a moment still counts as one of the voters. Of one or two, none can be away without a pause, so that there is
/// nothing to wait for.
bool may_stop(const EtcdSeen& seen, const EtcdMemberSeen& member) {
    return member.is_learner || voters(seen) <= 2 || is_majority_without(seen, member.address, voters(seen));
}

Step step_of(Kind kind, const EtcdHostSeen& host, std::uint64_t member = 0) {
    return EtcdStep{.kind = kind, .address = host.address, .name = host.name, .member = member, .why = {}};
}

Step waiting(const std::string& address, std::string why) {
    return EtcdStep{.kind = Kind::Wait, .address = address, .name = {}, .why = std::move(why)};
}

Step removal_of(const EtcdSeen& seen, const EtcdMemberSeen& member, const std::string& name, const char* why) {
    if (!member.is_learner && !is_majority_without(seen, member.address, voters(seen) - 1))
        return waiting(member.address,
                       "the etcd member " + name + " cannot be removed: too few others are healthy, and etcd would lose its majority");
    return EtcdStep{.kind = Kind::Remove, .address = member.address, .name = name, .member = member.id, .why = why};
}

/// What a step is called, in a report and in a plan.
struct StepWords {
    Kind kind;
    const char *done, *planned;
};
constexpr StepWords Words[] = {
    {Kind::Prepare, "set up", "set up"},   {Kind::Begin, "started", "start"},   {Kind::Start, "started", "start"},
    {Kind::Seal, "has its data", "start"}, {Kind::Remove, "removed", "remove"}, {Kind::Admit, "joined as a learner", "join"},
    {Kind::Promote, "votes", "promote"},
};

std::string names_without_data(const EtcdSeen& seen) {
    std::vector<std::string> names;
    for (const EtcdHostSeen& host : seen.hosts)
        if (!host.has_log) names.push_back(host.name);
    return names.empty() ? "" : "; there are no data of etcd on " + join(names, " and ");
}

/// Members whose data are there may be enough. No other may begin: what was acknowledged could be missing there.
Result<Step> step_without_majority(const EtcdSeen& seen) {
    if (std::ranges::none_of(seen.hosts, &EtcdHostSeen::has_log))
        return Error(Reason::Conflict,
                     "the cluster's objects are in an etcd, and no described host has its data: put /var/lib/porthole-etcd/data back, or "
                     "restore a backup. Objects of an etcd of etcdServers stay there until `porthole store migrate` has moved them");
    for (const EtcdHostSeen& host : seen.hosts)
        if (host.has_log && !host.is_running) return step_of(host.is_prepared ? Kind::Start : Kind::Prepare, host);
    return waiting(seen.hosts.front().address, "no majority of etcd's members answers at port 2379" + names_without_data(seen) +
                                                   ": start the machines of the others, put the data back, or restore a backup");
}

Result<Step> first_step(const EtcdSeen& seen) {
    const std::string wanted = first_bootstrap(seen.hosts);
    for (const EtcdHostSeen& host : seen.hosts)
        if (host.has_log && host.bootstrap != wanted)
            return Error(
                Reason::Conflict,
                fmt::format("{} has the data of an etcd of other hosts: describe those, or remove /var/lib/porthole-etcd/data on {} "
                            "if it never was a cluster's",
                            host.name, host.name));
    for (const EtcdHostSeen& host : seen.hosts) {
        if (!host.is_prepared) return step_of(Kind::Prepare, host);
        if (!host.has_log) return step_of(Kind::Begin, host);
        if (!host.is_running) return step_of(Kind::Start, host);
    }
    return waiting(seen.hosts.front().address,
                   "no majority of etcd's members answers at port 2379; they have to reach each other at port 2380");
}

/// A host of a member that etcd knows, and that has its data.
Step step_of_member(const EtcdSeen& seen, const EtcdHostSeen& host, const EtcdMemberSeen& member) {
    if (!host.is_prepared && host.is_running && !may_stop(seen, member))
        return waiting(host.address, "the etcd member " + host.name + " has to be restarted, and too few others are healthy");
    if (!host.is_prepared) return step_of(Kind::Prepare, host);
    if (!host.is_running) return step_of(Kind::Start, host);
    if (host.bootstrap != SealedBootstrap) return step_of(Kind::Seal, host);
    if (!member.is_healthy) return waiting(host.address, "the etcd member " + host.name + " is not healthy");
    if (member.is_learner) return step_of(Kind::Promote, host, member.id);
    return std::nullopt;
}

}  // namespace

std::string done_text(const EtcdStep& step) {
    for (const StepWords& words : Words)
        if (words.kind == step.kind)
            return fmt::format("etcd member {} {}{}{}", step.name, words.done, step.why.empty() ? "" : ": ", step.why);
    return "";
}

std::string planned_text(const EtcdStep& step) {
    for (const StepWords& words : Words)
        if (words.kind == step.kind) return fmt::format("{} etcd member {}", words.planned, step.name);
    return "";
}

std::string joining_bootstrap(const std::vector<std::string>& addresses) { return bootstrap(addresses, "existing"); }
std::string first_bootstrap(const std::vector<EtcdHostSeen>& hosts) {
    std::vector<std::string> addresses;
    for (const EtcdHostSeen& host : hosts) addresses.push_back(host.address);
    return bootstrap(addresses, "new");
}

Result<std::optional<EtcdStep>> next_step(const EtcdSeen& seen) {
    const bool is_cluster = std::ranges::any_of(
        seen.hosts, [](const EtcdHostSeen& host) { return host.serves_objects || (host.has_log && host.bootstrap == SealedBootstrap); });
    if (!seen.answers()) return is_cluster ? step_without_majority(seen) : first_step(seen);
    // A majority answers before the last member of a first start has begun.
    const std::string first = first_bootstrap(seen.hosts);
    if (!is_cluster && std::ranges::find(seen.hosts, first, &EtcdHostSeen::bootstrap) != seen.hosts.end()) {
        TRY(Step next, first_step(seen));
        if (next->kind != Kind::Wait) return next;
    }
    // Members that are lost come first: etcd adds none while one of its voters is away.
    for (const EtcdMemberSeen& member : seen.members)
        if (!member.is_healthy && !is_described(seen, member)) return removal_of(seen, member, member.address, "it is no longer described");
    for (const EtcdHostSeen& host : seen.hosts)
        if (const auto* member = member_of(seen, host.address); member && !host.has_log)
            return removal_of(seen, *member, host.name, "its data are lost");
    Step waits;  // for what another step may bring about
    for (const EtcdHostSeen& host : seen.hosts) {
        const auto* member = member_of(seen, host.address);
        Step next = member ? step_of_member(seen, host, *member) : std::nullopt;
        if (next && next->kind != Kind::Wait) return next;
        if (next && !waits) waits = std::move(next);
    }
    if (waits) return waits;
    for (const EtcdHostSeen& host : seen.hosts) {
        if (member_of(seen, host.address)) continue;
        return host.is_prepared ? step_of(Kind::Admit, host) : step_of(Kind::Prepare, host);
    }
    return Step();
}

Result<std::optional<EtcdStep>> next_removal(const EtcdSeen& seen) {
    for (const EtcdMemberSeen& member : seen.members)
        if (!is_described(seen, member)) return removal_of(seen, member, member.address, "it is no longer described");
    return Step();
}

EtcdSeen after(EtcdSeen seen, const EtcdStep& step) {
    EtcdHostSeen* host = host_at(seen, step.address);
    const auto member = std::ranges::find(seen.members, step.address, &EtcdMemberSeen::address);
    switch (step.kind) {
        case Kind::Prepare:
            host->is_prepared = true;
            host->is_running = false;
            if (member != seen.members.end()) member->is_healthy = false;
            break;
        case Kind::Begin:
            host->bootstrap = first_bootstrap(seen.hosts);
            host->has_log = host->is_running = true;
            break;
        case Kind::Start:
            host->is_running = true;
            if (member != seen.members.end()) member->is_healthy = true;
            break;
        case Kind::Seal:
            host->bootstrap = SealedBootstrap;
            break;
        case Kind::Remove:
            seen.members.erase(member);
            break;
        case Kind::Admit:
            host->bootstrap.clear();
            host->has_log = host->is_running = true;
            seen.members.push_back({.id = seen.members.back().id + 1, .address = host->address, .is_learner = true, .is_healthy = true});
            break;
        case Kind::Promote:
            member->is_learner = false;
            break;
        case Kind::Wait:
            break;
    }
    // A new etcd has a leader when all of its members run.
    if (!seen.answers() && step.kind == Kind::Begin && std::ranges::all_of(seen.hosts, &EtcdHostSeen::is_running))
        for (const EtcdHostSeen& one : seen.hosts)
            seen.members.push_back({.id = seen.members.size() + 1, .address = one.address, .is_learner = false, .is_healthy = true});
    return seen;
}

}  // namespace porthole::provision
