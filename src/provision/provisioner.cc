#include "provision/provisioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/strings.h"
#include "local_cluster/drain.h"
#include "node_join/bootstrap_token.h"
#include "provision/node_object.h"
#include "provision/reported_step.h"
#include "provision/upgrade.h"
#include "runtime/scope.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

/// Longer than a machine may take to join; the token is deleted when it has, or has not.
constexpr Duration TokenLife = 20min;

/// Of lists separated by commas. Servers of a cluster come and go.
bool have_common_word(std::string_view one, std::string_view other) {
    const auto words = split_views(other, ',');
    return std::ranges::any_of(split_views(one, ','), [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); });
}

Task<> limited(Semaphore& permits, Task<> work) {
    CO_TRY(const auto permit, co_await permits.acquire());
    co_return co_await std::move(work);
}

}  // namespace

Provisioner::Provisioner(Seams seams, ProvisionSettings settings)
    : seams_(seams), settings_(std::move(settings)), inventory_(seams.client) {}
Provisioner::~Provisioner() = default;

Task<> Provisioner::plan(std::vector<MachineDescription> wanted, std::function<void(const std::string& line)> print) {
    CO_TRY_VOID(co_await survey(std::move(wanted)));
    for (const auto& work : works_) {
        const char* action = work->action == Action::Join ? "join" : work->action == Action::Upgrade ? "upgrade" : "leave as it is:";
        print(fmt::format("{} {}", action, work->wanted.name));
    }
    for (const MachineDescription& machine : surplus_) print("drain, reset and delete " + machine.name);
    co_return outcome();
}

Task<> Provisioner::apply(std::vector<MachineDescription> wanted) {
    CO_TRY_VOID(co_await survey(std::move(wanted)));
    CO_TRY_VOID(co_await join_all());
    CO_TRY_VOID(co_await remove_all());
    CO_TRY_VOID(co_await upgrade_all());
    co_return outcome();
}

/// Asks all machines of the description, some at a time. Those that fail are noted and left out.
Task<> Provisioner::survey(std::vector<MachineDescription> wanted) {
    CO_TRY(entries_, co_await inventory_.load());
    std::set<std::string> names;
    for (MachineDescription& machine : wanted) {
        names.insert(machine.name);
        auto made = make_machine(seams_.transport, machine);
        works_.push_back(std::make_unique<Work>(Work{.wanted = std::move(machine), .machine = std::move(made), .facts = {}}));
    }
    for (const auto& [name, entry] : entries_)
        if (!names.contains(name)) surplus_.push_back(entry.machine);

    Semaphore permits(settings_.parallel);
    std::vector<Task<>> tasks;
    for (const auto& work : works_) tasks.push_back(limited(permits, ask(*work)));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (std::size_t i = results.size(); i-- > 0;) {
        if (results[i]) continue;
        if (is_cancelled(results[i])) co_return results[i].error();
        const std::string name = works_[i]->wanted.name;
        seams_.report.begin("machine " + name);
        seams_.report.failed("machine " + name, results[i].error().message);
        failed_.insert(failed_.begin(), name);
        works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    co_return {};
}

Task<> Provisioner::ask(Work& work) {
    const Payload& payload = payload_of(work.wanted);
    if (payload.file.empty()) co_return Error(Reason::BadRequest, settings_.windows_remedy);
    CO_TRY(const auto node, co_await find_node(seams_.client, work.wanted.name));
    CO_TRY(work.facts, co_await work.machine->ask());
    CO_TRY_VOID(check_owner(work, node.has_value()));
    const bool has_joined = !work.facts.server.empty() && node;
    // Where an upgrade was not finished, nobody has seen the new program Ready.
    const bool is_current = work.facts.program_sha256 == payload.sha256 && !work.facts.has_previous;
    if (has_joined && !is_current)
        work.action = Action::Upgrade;
    else if (!has_joined || !work.facts.is_agent_running)
        work.action = Action::Join;
    co_return {};
}

/// Whatever was not provisioned by us is left to whoever made it.
Result<void> Provisioner::check_owner(const Work& work, bool has_node) const {
    const MachineFacts& facts = work.facts;
    const InventoryEntry* entry = entry_of(work.wanted.name);
    if (!facts.server.empty() && !have_common_word(facts.server, settings_.server))
        return Error(Reason::Conflict, "the machine is a node of the cluster at " + facts.server + ": run `porthole reset` there first");
    if (!facts.server.empty() && !entry)
        return Error(Reason::Conflict,
                     "the machine has joined this cluster by hand or under another name: run `porthole reset` there first");
    if (has_node && !entry)
        return Error(Reason::Conflict, fmt::format("the cluster has another node of that name: choose a new one, or reset that machine and "
                                                   "`kubectl delete node {}`",
                                                   work.wanted.name));
    if (has_node && facts.server.empty() && entry->machine.ssh.address != work.wanted.ssh.address)
        return Error(Reason::Conflict, fmt::format("the node is the machine at {}: provision once without this host, which removes it",
                                                   entry->machine.ssh.address));
    return {};
}

Task<> Provisioner::join_all() {
    Semaphore permits(settings_.parallel);
    std::vector<Task<>> tasks;
    for (const auto& work : works_)
        if (work->action != Action::Upgrade) tasks.push_back(limited(permits, join(*work)));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (const auto& result : results) CO_TRY_VOID(result);
    co_return {};
}

Task<> Provisioner::join(Work& work) {
    const std::string& name = work.wanted.name;
    const bool is_new = work.action == Action::Join;
    CO_TRY_VOID(co_await step("node " + name + (is_new ? " Ready" : " as described"), name, join_machine(work)));
    co_return {};
}

Task<> Provisioner::join_machine(Work& work) {
    const std::string& name = work.wanted.name;
    if (work.action == Action::Join) {
        // Written first: a machine that fails half-way is found again by the next run, or by one that removes it.
        if (!entry_of(name)) CO_TRY_VOID(co_await inventory_.put({.machine = work.wanted}));
        if (work.facts.program_sha256 != payload_of(work.wanted).sha256) {
            CO_TRY_VOID(co_await work.machine->upload(payload_of(work.wanted)));
            CO_TRY_VOID(co_await work.machine->place(false));
        }
        CO_TRY_VOID(co_await join_with_token(work));
    }
    CO_TRY_VOID(co_await wait_until_ready(seams_.loop, seams_.client, name, {}, settings_.ready_limit));
    co_return co_await settle(work);
}

/// A token of its own for each machine, so that none is valid longer than its machine needs it.
Task<> Provisioner::join_with_token(Work& work) {
    const SystemTime expires = seams_.loop.wall_now() + TokenLife;
    CO_TRY(const std::string token, co_await node_join::create_bootstrap_token(seams_.client, expires, "porthole provision"));
    tokens_.insert(token);
    const auto joined = co_await work.machine->join({.server = settings_.server, .token = token, .ca_hash = settings_.ca_hash});
    if (is_cancelled(joined)) co_return joined;  // clean_up() deletes it
    (void)co_await node_join::remove_bootstrap_token(seams_.client, token);
    tokens_.erase(token);
    co_return joined;
}

Task<> Provisioner::clean_up() {
    for (const std::string& token : std::exchange(tokens_, {})) (void)co_await node_join::remove_bootstrap_token(seams_.client, token);
    co_return {};
}

Task<> Provisioner::settle(Work& work) {
    const InventoryEntry* entry = entry_of(work.wanted.name);
    CO_TRY_VOID(co_await set_labels_and_taints(seams_.client, work.wanted, entry ? entry->machine : MachineDescription{}));
    if (work.facts.has_previous) CO_TRY_VOID(co_await work.machine->forget_previous());
    if (entry && entry->is_cordoned) CO_TRY_VOID(co_await undo_cordon(seams_.client, inventory_, *entry));
    if (entry && entry->machine == work.wanted) co_return {};
    co_return co_await inventory_.put({.machine = work.wanted});
}

/// One at a time: the others go on with the old program while one is away, and after one has failed.
Task<> Provisioner::upgrade_all() {
    for (const auto& work : works_) {
        if (work->action != Action::Upgrade) continue;
        const std::string name = work->wanted.name;
        auto task = upgrade(seams_.loop, seams_.client, inventory_, *work->machine,
                            {.entry = *entry_of(name),
                             .payload = payload_of(work->wanted),
                             .is_unfinished = work->facts.has_previous,
                             .drains = settings_.drains_before_upgrade,
                             .ready_limit = settings_.ready_limit,
                             .drain_limit = settings_.drain_limit});
        CO_TRY(const bool is_done, co_await step("node " + name + " upgraded", name, std::move(task)));
        if (!is_done) co_return Error(Reason::Io, "the upgrade of " + name + " failed; machines after it keep their program");
        entries_.at(name).is_cordoned = false;
        work->facts.has_previous = false;
        CO_TRY_VOID(co_await step("node " + name + " as described", name, settle(*work)));
    }
    co_return {};
}

Task<> Provisioner::remove_all() {
    for (const MachineDescription& machine : surplus_)
        CO_TRY_VOID(co_await step("node " + machine.name + " removed", machine.name, remove(machine)));
    co_return {};
}

Task<> Provisioner::remove(MachineDescription machine) {
    CO_TRY(const auto node, co_await find_node(seams_.client, machine.name));
    if (node) CO_TRY_VOID(co_await local_cluster::drain(seams_.loop, seams_.client, {machine.name}, settings_.drain_limit));
    const auto made = make_machine(seams_.transport, machine);
    auto removed = co_await made->remove();
    if (!removed && removed.error().reason == Reason::Unavailable) {
        // Whoever has deleted the node of a machine that does not answer says that it is gone for good.
        if (node)
            co_return Error(Reason::Unavailable, fmt::format("{}; if it is gone for good: kubectl delete node {}, and provision again",
                                                             removed.error().message, machine.name));
        removed = {};
    }
    CO_TRY_VOID(std::move(removed));
    CO_TRY_VOID(ignore_not_found(co_await seams_.client.remove<api::core::v1::Node>({"", machine.name})));
    co_return co_await inventory_.erase(machine.name);
}

const Payload& Provisioner::payload_of(const MachineDescription& machine) const {
    return machine.is_windows ? settings_.windows_payload : settings_.linux_payload;
}

const InventoryEntry* Provisioner::entry_of(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
}

Task<bool> Provisioner::step(std::string name, std::string machine, Task<> work) {
    CO_TRY(const bool is_done, co_await reported_step(seams_.report, std::move(name), std::move(work)));
    if (!is_done) failed_.push_back(machine);
    co_return is_done;
}

Result<void> Provisioner::outcome() const {
    if (failed_.empty()) return {};
    return Error(Reason::Io, fmt::format("failed: {}; fix the cause and run it again", porthole::join(failed_, ", ")));
}

}  // namespace porthole::provision
