#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/resource_v1.h"
#include "base/lru_map.h"
#include "base/result.h"
#include "scheduler/devices/device_capacity.h"
#include "scheduler/devices/device_constraint.h"
#include "scheduler/devices/device_inventory.h"

namespace porthole::scheduler {

/// Selectors by their text, compiled once.
using DeviceSelectors = LruMap<objects::DeviceSelector>;

/// The input of an allocator. All of it outlives the allocator.
struct DeviceWorld {
    const DeviceInventory& inventory;
    std::function<const DeviceUse*(const std::string& device_key)> find_use;  ///< null if no one has the device
    std::function<std::shared_ptr<const api::resource::v1::DeviceClass>(const std::string& name)> find_class;
    DeviceSelectors& selectors;
    std::function<std::string()> make_share_id;  ///< a new UUID
};

/// Chooses devices for all claims of a pod, node by node.
///
/// An exhaustive search, in the order of requests and of the pools' devices, that ends at the first solution. Its cost depends on claims
/// that users write, so steps and evaluations have a limit, which is shared by all nodes. For one cycle, on one thread.
class DeviceAllocator {
public:
    using Claims = std::vector<std::shared_ptr<const api::resource::v1::ResourceClaim>>;
    using Results = std::vector<api::resource::v1::AllocationResult>;
    struct Limits {
        std::uint64_t steps = 1'000'000;           ///< devices tried for a request, and checks of their constraints and counters
        std::uint64_t selector_cost = 20'000'000;  ///< a second or so
    };

    DeviceAllocator(DeviceWorld world, Claims claims) : DeviceAllocator(std::move(world), std::move(claims), Limits()) {}
    DeviceAllocator(DeviceWorld world, Claims claims, Limits limits);

    /// The devices of each claim if the pod runs on `node`; nullopt if the node does not have enough. Error: a claim or class is invalid,
    /// or a limit was reached, so that no node is possible.
    Result<std::optional<Results>> allocate(const NodeSpec& node);

private:
    /// A request, or one of its alternatives, prepared for the search.
    struct Wish {
        std::string name;  ///< "gpu" or "gpu/large"
        std::shared_ptr<const api::resource::v1::DeviceClass> device_class;
        const std::vector<api::resource::v1::DeviceSelector>* selectors = nullptr;
        const std::vector<api::resource::v1::DeviceToleration>* tolerations = nullptr;
        const api::resource::v1::CapacityRequirements* capacity = nullptr;
        bool all = false, admin_access = false;
        std::size_t count = 0;
        std::unordered_map<const DeviceRecord*, bool> chosen_by_selectors;  ///< the same on every node, so that each is evaluated once
        std::vector<const DeviceRecord*> all_devices;                       ///< on this node, where `all`
    };
    struct Request {
        std::vector<Wish> alternatives;
        std::size_t selected = 0;
    };
    struct Taken {
        const Wish* wish;
        const DeviceRecord* device;
        std::optional<Capacities> share;  ///< of a device that allows multiple allocations
        bool has_counters;                ///< further shares of a device consume no more of the shared counters
    };
    struct ClaimState {
        std::shared_ptr<const api::resource::v1::ResourceClaim> claim;
        std::vector<Request> requests;
        std::vector<ConstraintState> constraints;
        std::vector<Taken> taken;

        std::string text() const { return claim->metadata.namespace_ + "/" + claim->metadata.name; }
    };
    enum class Outcome : std::uint8_t { Found, None, TooMany, Failed };

    template <class T>
    Wish make_wish(const T& from, std::string name);
    Result<void> check_requests() const;
    Result<void> step();
    Result<bool> gather(const NodeSpec& node);
    Result<bool> selects(const ClaimState& claim, Wish& wish, const DeviceRecord& device);
    Result<bool> all_match(const std::string& owner, const std::vector<api::resource::v1::DeviceSelector>& selectors,
                           const DeviceRecord& device);

    Outcome next_request(std::size_t claim, std::size_t request);
    Outcome next_device(std::size_t claim, std::size_t request, Wish& wish, std::size_t index, std::size_t first);
    Outcome fail(Error error);
    std::optional<Capacities> room_for(const Wish& wish, const DeviceRecord& device);
    bool take(ClaimState& claim, const Wish& wish, const DeviceRecord& device, bool& constraint_violated);
    void put_back(ClaimState& claim, const Wish& wish, const DeviceRecord& device);
    bool take_counters(const DeviceRecord& device);
    void put_back_counters(const DeviceRecord& device);
    std::unordered_map<std::string, Quantity>& counters_of(const DevicePool& pool);

    api::resource::v1::AllocationResult result_of(const ClaimState& claim, const std::string& node) const;

    DeviceWorld world_;
    Limits limits_;
    std::vector<ClaimState> claims_;
    Result<void> problem_;  ///< an error independent of the node
    std::uint64_t steps_ = 0, cost_ = 0;
    std::optional<Error> error_;

    // Of the present node.
    std::vector<const DeviceRecord*> devices_;
    const DevicePool* incomplete_ = nullptr;
    const DevicePool* invalid_ = nullptr;
    std::unordered_map<const DeviceRecord*, std::set<const ClaimState*>> taken_;
    std::unordered_map<const DeviceRecord*, DeviceUse> shared_;  ///< devices that allow multiple allocations
    std::size_t taken_in_all_ = 0;
    std::map<const DevicePool*, std::unordered_map<std::string, Quantity>> counters_;  ///< remaining amounts, by "set/counter"
};

}  // namespace porthole::scheduler
