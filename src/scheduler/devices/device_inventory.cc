#include "scheduler/devices/device_inventory.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "scheduler/framework/convert.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

NodeChoice node_choice(const std::optional<std::string>& name, std::optional<bool> all,
                       const schema::Box<api::core::v1::NodeSelector>& selector) {
    NodeChoice choice{.node_name = name.value_or(""), .all_nodes = all.value_or(false)};
    // The API allows exactly one term.
    if (selector && selector->node_selector_terms.size() == 1) {
        choice.term = node_term(selector->node_selector_terms.front());
        choice.selector = &*selector;
    }
    return choice;
}

void add_devices(DevicePool& pool, const ResourceSlice& slice) {
    const bool each = slice.spec.per_device_node_selection.value_or(false);
    const NodeChoice shared = node_choice(slice.spec.node_name, slice.spec.all_nodes, slice.spec.node_selector);
    pool.slice_nodes.push_back(shared);
    for (const Device& device : slice.spec.devices) {
        DeviceRecord& record = pool.devices.emplace_back();
        record.key = device_key(pool.driver, pool.name, device.name);
        record.pool = &pool;
        record.device = &device;
        record.nodes = each ? node_choice(device.node_name, device.all_nodes, device.node_selector) : shared;
    }
}

bool has_duplicates(const DevicePool& pool) {
    std::set<std::string_view> names;
    for (const DeviceRecord& record : pool.devices)
        if (!names.insert(record.device->name).second) return true;
    return false;
}

/// False where two sets have one name.
bool add_counters(DevicePool& pool) {
    std::set<std::string_view> names;
    for (const auto& slice : pool.slices)
        for (const CounterSet& set : slice->spec.shared_counters) {
            if (!names.insert(set.name).second) return false;
            for (const auto& [name, counter] : set.counters) pool.counters[set.name + "/" + name] = counter.value;
        }
    return true;
}

bool has_unknown_counters(const DevicePool& pool) {
    for (const DeviceRecord& record : pool.devices)
        for (const DeviceCounterConsumption& consumption : record.device->consumes_counters)
            for (const auto& [name, counter] : consumption.counters)
                if (!pool.counters.contains(consumption.counter_set + "/" + name)) return true;
    return false;
}

}  // namespace

std::string device_key(const std::string& driver, const std::string& pool, const std::string& device) {
    return driver + "/" + pool + "/" + device;
}

bool NodeChoice::includes(const NodeSpec& node) const {
    if (!node_name.empty()) return node_name == node.name;
    return all_nodes || (term && term->matches(node.labels, node.name));
}

const objects::DeviceView& DeviceRecord::view() const {
    if (!view_) view_ = std::make_unique<objects::DeviceView>(pool->driver, *device);
    return *view_;
}

std::size_t DevicePool::slices_for(const NodeSpec& node) const {
    std::size_t found = 0;
    auto first = devices.begin();
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const auto last = first + static_cast<std::ptrdiff_t>(slices[i]->spec.devices.size());
        const auto includes = [&](const DeviceRecord& device) { return device.nodes.includes(node); };
        if (!slices[i]->spec.shared_counters.empty() || slice_nodes[i].includes(node) || std::any_of(first, last, includes)) ++found;
        first = last;
    }
    return found;
}

DeviceInventory::DeviceInventory(const std::vector<std::shared_ptr<const ResourceSlice>>& slices) {
    std::map<std::tuple<std::string, std::string, std::int64_t>, std::unique_ptr<DevicePool>> pools;
    for (const auto& slice : slices) {
        const ResourcePool& of = slice->spec.pool;
        auto& pool = pools[{slice->spec.driver, of.name, -of.generation}];
        if (!pool) {
            pool = std::make_unique<DevicePool>();
            pool->driver = slice->spec.driver;
            pool->name = of.name;
            pool->generation = of.generation;
        }
        pool->slices.push_back(slice);
    }
    for (auto& [key, pool] : pools) {
        std::ranges::sort(pool->slices, {}, [](const auto& slice) -> const std::string& { return slice->metadata.name; });
        pool->is_newest = pools_.empty() || pools_.back()->driver != pool->driver || pools_.back()->name != pool->name;
        pool->is_complete = std::cmp_equal(pool->slices.size(), pool->slices.front()->spec.pool.resource_slice_count);
        for (const auto& slice : pool->slices) add_devices(*pool, *slice);
        pool->is_invalid = !add_counters(*pool) || has_duplicates(*pool) || has_unknown_counters(*pool);
        pools_.push_back(std::move(pool));
    }
}

}  // namespace porthole::scheduler
