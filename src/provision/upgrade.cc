#include "provision/upgrade.h"

#include "local_cluster/drain.h"
#include "provision/node_object.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

/// Heartbeats count whole seconds: the next agent's must differ from the last one's.
constexpr Duration HeartbeatUnit = 1s;

struct Upgrading {
    EventLoop& loop;
    client::Client& client;
    Inventory& inventory;
    Machine& machine;
    UpgradeOrder order;

    const std::string& name() const { return order.entry.machine.name; }

    Task<> cordon() {
        CO_TRY(const auto node, co_await find_node(client, name()));
        if (node && node->spec.unschedulable) co_return {};
        order.entry.is_cordoned = true;  // first, so that a run that ends here is made good by the next
        CO_TRY_VOID(co_await inventory.put(order.entry));
        co_return co_await local_cluster::set_unschedulable(client, name(), true);
    }

    Task<Timestamp> heartbeat() {
        CO_TRY(const auto node, co_await find_node(client, name()));
        co_return node ? last_heartbeat(*node) : Timestamp();
    }

    /// From the stop on, a newer heartbeat can only be the new program's.
    Task<> replace() {
        CO_TRY_VOID(co_await machine.stop());
        CO_TRY(const Timestamp since, co_await heartbeat());
        CO_TRY_VOID(co_await loop.sleep(HeartbeatUnit));
        CO_TRY_VOID(co_await machine.place(true));
        CO_TRY_VOID(co_await machine.start());
        co_return co_await wait_until_ready(loop, client, name(), since, order.ready_limit);
    }

    Task<> roll_back() {
        CO_TRY(const Timestamp since, co_await heartbeat());
        CO_TRY_VOID(co_await loop.sleep(HeartbeatUnit));
        CO_TRY_VOID(co_await machine.roll_back());
        co_return co_await wait_until_ready(loop, client, name(), since, order.ready_limit);
    }

    /// Yields what to say about a failure.
    Task<> replace_or_roll_back() {
        auto replaced = co_await replace();
        if (replaced || is_cancelled(replaced)) co_return replaced;
        const auto back = co_await roll_back();
        if (is_cancelled(back)) co_return back;
        const std::string why = replaced.error().message;
        if (!back) co_return Error(Reason::Io, why + "; and the old program could not be restored: " + back.error().message);
        co_return Error(Reason::Io, why + "; the old program runs again");
    }

    Task<> run() {
        if (order.is_unfinished) CO_TRY_VOID(co_await machine.roll_back());
        CO_TRY_VOID(co_await machine.upload(order.payload));
        CO_TRY_VOID(co_await cordon());
        Result<void> done;
        if (order.drains) done = co_await local_cluster::drain(loop, client, {name()}, order.drain_limit);
        if (done) done = co_await replace_or_roll_back();
        if (is_cancelled(done)) co_return done;
        const auto uncordoned = co_await undo_cordon(client, inventory, order.entry);
        CO_TRY_VOID(std::move(done));
        CO_TRY_VOID(uncordoned);
        co_return co_await machine.forget_previous();
    }
};

}  // namespace

Task<> undo_cordon(client::Client& client, Inventory& inventory, InventoryEntry entry) {
    if (!entry.is_cordoned) co_return {};
    CO_TRY_VOID(co_await local_cluster::set_unschedulable(client, entry.machine.name, false));
    entry.is_cordoned = false;
    co_return co_await inventory.put(entry);
}

Task<> upgrade(EventLoop& loop, client::Client& client, Inventory& inventory, Machine& machine, UpgradeOrder order) {
    Upgrading upgrading{loop, client, inventory, machine, std::move(order)};
    co_return co_await upgrading.run();
}

}  // namespace porthole::provision
