#pragma once
#include "client/client.h"
#include "provision/inventory.h"
#include "provision/machine.h"

namespace porthole::provision {

/// A node to upgrade, and how. A value.
struct UpgradeOrder {
    InventoryEntry entry;
    Payload payload;
    bool is_unfinished = false;  ///< an earlier one was: it is undone first
    bool drains = false;
    Duration ready_limit, drain_limit;
};

/// Upgrades the program of a joined node: copies it, cordons the node, restarts its agent and waits until that is Ready; then uncordons. A
/// node that was cordoned before stays so. References must outlive it.
///
/// Error: what failed, and what was done about it. The old program runs again, unless the message says that it could not be restored.
Task<> upgrade(EventLoop& loop, client::Client& client, Inventory& inventory, Machine& machine, UpgradeOrder order);

/// Undoes the cordon that an upgrade has noted in the entry.
Task<> undo_cordon(client::Client& client, Inventory& inventory, InventoryEntry entry);

}  // namespace porthole::provision
