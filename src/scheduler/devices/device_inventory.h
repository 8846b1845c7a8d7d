#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/resource_v1.h"
#include "objects/devices/device_selector.h"
#include "scheduler/framework/node_info.h"

namespace porthole::scheduler {

/// "driver/pool/device": identifies a device in the cluster.
std::string device_key(const std::string& driver, const std::string& pool, const std::string& device);

/// The nodes that can use something: one by name, all, or those that a selector matches.
struct NodeChoice {
    std::string node_name;
    bool all_nodes = false;
    std::optional<NodeSelectorTerm> term;                   ///< parsed
    const api::core::v1::NodeSelector* selector = nullptr;  ///< as it was written

    bool includes(const NodeSpec& node) const;
};

struct DevicePool;

/// A device of a pool.
struct DeviceRecord {
    std::string key;
    const DevicePool* pool = nullptr;
    const api::resource::v1::Device* device = nullptr;
    NodeChoice nodes;

    /// Created on first use: most devices are never evaluated by a selector.
    const objects::DeviceView& view() const;

private:
    mutable std::unique_ptr<objects::DeviceView> view_;
};

/// All that a driver offers under one name, in one generation.
struct DevicePool {
    std::string driver, name;
    std::int64_t generation = 0;
    std::vector<std::shared_ptr<const api::resource::v1::ResourceSlice>> slices;  ///< by name
    std::vector<NodeChoice> slice_nodes;  ///< of each slice; of one whose devices have their own: none
    std::vector<DeviceRecord> devices;
    bool is_newest = true;
    bool is_complete = false;  ///< every slice that the driver announces is there
    bool is_invalid = false;   ///< two devices have the same name, or a counter does not exist
    /// Shared counters by "set/counter".
    std::unordered_map<std::string, Quantity> counters;

    std::string text() const { return driver + "/" + name; }
    /// How many slices matter to the node: those with devices for it, and those with shared counters.
    std::size_t slices_for(const NodeSpec& node) const;
};

/// The pools of all ResourceSlices, by driver and name, newer generations first. Immutable; keeps the slices alive.
class DeviceInventory {
public:
    DeviceInventory() = default;
    explicit DeviceInventory(const std::vector<std::shared_ptr<const api::resource::v1::ResourceSlice>>& slices);

    const std::vector<std::unique_ptr<DevicePool>>& pools() const { return pools_; }

private:
    std::vector<std::unique_ptr<DevicePool>> pools_;
};

}  // namespace porthole::scheduler
