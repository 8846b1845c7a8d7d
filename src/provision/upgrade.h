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

/// Gives a node that has joined another program: copies it, cordons the node, restarts its agent with it and waits until that is Ready;
/// then uncordons. A node that was cordoned before stays so. What the references name must outlive it.
///
/// Error: what failed, and what was done about it. The old program then runs again, unless the message says that it could not be put back.
Task<> upgrade(EventLoop& loop, client::Client& client, Inventory& inventory, Machine& machine, UpgradeOrder order);

/// Undoes the cordon that an upgrade has noted in the entry.
Task<> undo_cordon(client::Client& client, Inventory& inventory, InventoryEntry entry);

}  // namespace porthole::provision
