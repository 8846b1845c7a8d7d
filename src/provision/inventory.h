#pragma once
#include <map>
#include <string>

#include "client/client.h"
#include "provision/machine_description.h"

namespace porthole::provision {

/// A machine that was provisioned, at least partly.
struct InventoryEntry {
    MachineDescription machine;  ///< as it was last brought about
    bool is_cordoned = false;    ///< by an upgrade, which has to uncordon it
};

/// The machines that the cluster has by `provision`, in a ConfigMap of kube-system: nodes can neither read nor write it. Lives on the
/// client's loop; `client` must outlive it.
class Inventory {
public:
    static constexpr const char *Nodes = "porthole-machines", *Servers = "porthole-servers";

    explicit Inventory(client::Client& client, const char* name = Nodes) : client_(client), key_{"kube-system", name} {}

    /// By the machine's name. Error: BadRequest with the node, for an entry that we did not write.
    Task<std::map<std::string, InventoryEntry>> load();
    Task<> put(InventoryEntry entry);
    /// Harmless if there is none.
    Task<> erase(std::string name);

private:
    client::Client& client_;
    const client::NamespacedName key_;
};

}  // namespace porthole::provision
