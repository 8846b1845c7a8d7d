#include "scheduler/devices/device_allocator.h"

#include <algorithm>
#include <utility>

#include "objects/devices/device_taints.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

constexpr std::size_t MostResults = 32;  // of a claim, by the API
// Together they bound the depth of the search: each step down takes a device or goes to the next claim.
constexpr std::size_t MostDevicesOfAPod = 1024, MostClaimsOfAPod = 1024;

bool is_tainted(const Device& device, const std::vector<DeviceToleration>& tolerations) {
    return std::ranges::any_of(device.taints, [&](const DeviceTaint& taint) {
        if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return false;
        return std::ranges::none_of(tolerations, [&](const DeviceToleration& one) { return objects::tolerates(one, taint); });
    });
}

bool is_shareable(const Device& device) { return device.allow_multiple_allocations.value_or(false); }

/// The one selector that holds where all these devices, chosen for `node`, can be used; nothing: everywhere.
schema::Box<api::core::v1::NodeSelector> common_nodes(const std::vector<const DeviceRecord*>& devices, const std::string& node) {
    schema::Box<api::core::v1::NodeSelector> selector;
    api::core::v1::NodeSelectorTerm term;
    const auto add = [](auto& list, const auto& requirement) {
        if (std::ranges::find(list, requirement) == list.end()) list.push_back(requirement);
    };
    for (const DeviceRecord* device : devices) {
        const NodeChoice& nodes = device->nodes;
        if (!nodes.node_name.empty() || device->device->binds_to_node.value_or(false)) {
            term = {};
            term.match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {node}}};
            break;
        }
        if (!nodes.selector) continue;
        const auto& from = nodes.selector->node_selector_terms.front();
        for (const auto& requirement : from.match_expressions) add(term.match_expressions, requirement);
        for (const auto& requirement : from.match_fields) add(term.match_fields, requirement);
    }
    if (!term.match_expressions.empty() || !term.match_fields.empty()) selector.emplace().node_selector_terms = {std::move(term)};
    return selector;
}

}  // namespace

template <class T>
DeviceAllocator::Wish DeviceAllocator::make_wish(const T& from, std::string name) {
    Wish wish;
    wish.name = std::move(name);
    wish.device_class = world_.find_class(from.device_class_name);
    wish.selectors = &from.selectors;
    wish.tolerations = &from.tolerations;
    if (from.capacity) wish.capacity = &*from.capacity;
    wish.all = from.allocation_mode == "All";
    wish.count = static_cast<std::size_t>(std::max<std::int64_t>(from.count, 0));
    return wish;
}

DeviceAllocator::DeviceAllocator(DeviceWorld world, Claims claims, Limits limits) : world_(std::move(world)), limits_(limits) {
    if (claims.size() > MostClaimsOfAPod) {
        problem_ = Error(Reason::BadRequest, "a pod cannot have more than " + std::to_string(MostClaimsOfAPod) + " claims to allocate");
        return;
    }
    for (auto& claim : claims) {
        ClaimState& state = claims_.emplace_back();
        state.claim = std::move(claim);
        for (const DeviceRequest& request : state.claim->spec.devices.requests) {
            Request& made = state.requests.emplace_back();
            if (request.exactly) {
                Wish wish = make_wish(*request.exactly, request.name);
                wish.admin_access = request.exactly->admin_access.value_or(false);
                made.alternatives.push_back(std::move(wish));
            }
            for (const DeviceSubRequest& one : request.first_available)
                made.alternatives.push_back(make_wish(one, request.name + "/" + one.name));
        }
        for (const DeviceConstraint& constraint : state.claim->spec.devices.constraints) state.constraints.emplace_back(constraint);
    }
    problem_ = check_requests();
}

/// What is wrong with the claims wherever the pod is to run.
Result<void> DeviceAllocator::check_requests() const {
    for (const ClaimState& claim : claims_) {
        std::size_t least = 0;
        for (const Request& request : claim.requests) {
            std::size_t fewest = request.alternatives.empty() ? 0 : SIZE_MAX;
            for (const Wish& wish : request.alternatives) {
                if (!wish.device_class)
                    return Error(Reason::BadRequest,
                                 "claim " + claim.text() + ", request " + wish.name + ": could not retrieve device class");
                fewest = std::min(fewest, wish.all ? 0 : wish.count);
            }
            least += std::min(fewest, MostResults + 1);
        }
        if (least > MostResults)
            return Error(Reason::BadRequest, "claim " + claim.text() + ": number of requested devices " + std::to_string(least) +
                                                 " exceeds the claim limit of " + std::to_string(MostResults));
        for (std::size_t i = 0; i < claim.claim->spec.devices.constraints.size(); ++i) {
            const DeviceConstraint& constraint = claim.claim->spec.devices.constraints[i];
            if (!constraint.match_attribute && !constraint.distinct_attribute)
                return Error(Reason::BadRequest, "claim " + claim.text() + ", constraint #" + std::to_string(i) +
                                                     ": empty constraint (unsupported constraint type?)");
        }
    }
    return {};
}

Result<void> DeviceAllocator::step() {
    if (++steps_ > limits_.steps) return Error(Reason::Timeout, "timed out trying to allocate devices");
    return {};
}

/// The devices that the node can use. Error: as allocate(). False: an `All` cannot be satisfied now.
Result<bool> DeviceAllocator::gather(const NodeSpec& node) {
    devices_.clear();
    incomplete_ = invalid_ = nullptr;
    std::vector<const DeviceRecord*> last;  // of pools with devices that have to be waited for
    bool is_decided = false;                // for the generations of a pool
    for (const auto& pool : world_.inventory.pools()) {
        if (pool->is_newest) is_decided = false;
        const std::size_t slices = is_decided ? 0 : pool->slices_for(node);
        if (slices == 0) continue;
        is_decided = true;
        const bool is_whole = std::cmp_equal(slices, pool->slices.front()->spec.pool.resource_slice_count);
        // An older generation is used as long as the newer ones say nothing of this node.
        if (!pool->is_newest && !is_whole) continue;
        if (!is_whole && !pool->is_complete) {
            incomplete_ = pool.get();
        } else if (pool->is_invalid) {
            invalid_ = pool.get();
        } else {
            std::vector<const DeviceRecord*> found;
            for (const DeviceRecord& device : pool->devices)
                if (device.nodes.includes(node)) found.push_back(&device);
            const bool waits = std::ranges::any_of(found, [](const DeviceRecord* one) { return !one->device->binding_conditions.empty(); });
            std::vector<const DeviceRecord*>& into = waits ? last : devices_;
            into.insert(into.end(), found.begin(), found.end());
        }
    }
    devices_.insert(devices_.end(), last.begin(), last.end());
    for (ClaimState& claim : claims_)
        for (Request& request : claim.requests)
            for (Wish& wish : request.alternatives) {
                wish.all_devices.clear();
                if (!wish.all) continue;
                if (incomplete_ || invalid_) return false;
                for (const DeviceRecord* device : devices_) {
                    TRY_VOID(step());
                    TRY(const bool selected, selects(claim, wish, *device));
                    if (selected && room_for(wish, *device)) wish.all_devices.push_back(device);
                }
            }
    return true;
}

Result<bool> DeviceAllocator::selects(const ClaimState& claim, Wish& wish, const DeviceRecord& device) {
    const auto known = wish.chosen_by_selectors.find(&device);
    if (known != wish.chosen_by_selectors.end()) return known->second;
    TRY(bool selected, all_match("class " + wish.device_class->metadata.name, wish.device_class->spec.selectors, device));
    if (selected) {
        TRY(selected, all_match("claim " + claim.text(), *wish.selectors, device));
    }
    wish.chosen_by_selectors.emplace(&device, selected);
    return selected;
}

Result<bool> DeviceAllocator::all_match(const std::string& owner, const std::vector<DeviceSelector>& selectors,
                                        const DeviceRecord& device) {
    for (std::size_t i = 0; i < selectors.size(); ++i) {
        const auto at_fault = [&](const std::string& what) {
            return Error(Reason::BadRequest, owner + ": selector #" + std::to_string(i) + ": " + what);
        };
        if (!selectors[i].cel) return at_fault("CEL expression empty (unsupported selector type?)");
        const std::string& text = selectors[i].cel->expression;
        const objects::DeviceSelector* selector = world_.selectors.find(text);
        if (!selector) selector = &world_.selectors.put(text, objects::DeviceSelector(text));
        if (!selector->compiles()) return at_fault("CEL compile error: " + selector->problem());
        const auto matches = selector->matches(device.view(), cost_);
        if (!matches) return at_fault("CEL runtime error: " + matches.error().message);
        if (cost_ > limits_.selector_cost) return at_fault("the selectors of the pod's claims cost too much");
        if (!*matches) return false;
    }
    return true;
}

Result<std::optional<DeviceAllocator::Results>> DeviceAllocator::allocate(const NodeSpec& node) {
    if (!problem_) return problem_.error();
    taken_.clear();
    shared_.clear();
    counters_.clear();
    taken_in_all_ = 0;
    error_.reset();
    for (ClaimState& claim : claims_) {
        claim.taken.clear();
        claim.constraints.clear();
        for (const DeviceConstraint& constraint : claim.claim->spec.devices.constraints) claim.constraints.emplace_back(constraint);
    }
    TRY(const bool ready, gather(node));
    if (!ready) return std::optional<Results>();
    const Outcome outcome = next_request(0, 0);
    if (outcome == Outcome::Failed) return *error_;
    if (outcome != Outcome::Found) return std::optional<Results>();
    Results results;
    for (const ClaimState& claim : claims_) results.push_back(result_of(claim, node.name));
    return std::optional(std::move(results));
}

DeviceAllocator::Outcome DeviceAllocator::fail(Error error) {
    error_ = std::move(error);
    return Outcome::Failed;
}

/// Goes on with a request and all that follow. TooMany: every alternative is more than the claim's results can hold.
DeviceAllocator::Outcome DeviceAllocator::next_request(std::size_t claim, std::size_t request) {
    if (claim == claims_.size()) return Outcome::Found;
    if (request == claims_[claim].requests.size()) {
        // Fewer devices of an earlier claim may leave a smaller alternative to this one.
        const Outcome rest = next_request(claim + 1, 0);
        return rest == Outcome::TooMany ? Outcome::None : rest;
    }
    Request& wanted = claims_[claim].requests[request];
    bool always_too_many = true;
    for (std::size_t i = 0; i < wanted.alternatives.size(); ++i) {
        wanted.selected = i;
        const Outcome outcome = next_device(claim, request, wanted.alternatives[i], 0, 0);
        if (outcome == Outcome::Found || outcome == Outcome::Failed) return outcome;
        always_too_many = always_too_many && outcome == Outcome::TooMany;
    }
    return always_too_many ? Outcome::TooMany : Outcome::None;
}

/// Finds the device `index` of a wish, at or after `first` of the node's: the devices of one wish are interchangeable, so that each set is
/// tried once.
DeviceAllocator::Outcome DeviceAllocator::next_device(std::size_t claim, std::size_t request, Wish& wish, std::size_t index,
                                                      std::size_t first) {
    ClaimState& state = claims_[claim];
    const std::size_t count = wish.all ? wish.all_devices.size() : wish.count;
    if (wish.all && count == 0) return Outcome::None;
    if (index == count) return next_request(claim, request + 1);
    if (state.taken.size() + count - index > MostResults) return Outcome::TooMany;
    if (taken_in_all_ == MostDevicesOfAPod)
        return fail(Error(Reason::BadRequest, "a pod cannot have more than " + std::to_string(MostDevicesOfAPod) + " devices"));
    const std::vector<const DeviceRecord*>& candidates = wish.all ? wish.all_devices : devices_;
    const std::size_t begin = wish.all ? index : first, end = wish.all ? index + 1 : candidates.size();
    for (std::size_t i = begin; i < end; ++i) {
        const DeviceRecord& device = *candidates[i];
        if (const auto in_time = step(); !in_time) return fail(in_time.error());
        if (!wish.all) {
            const auto selected = selects(state, wish, device);
            if (!selected) return fail(selected.error());
            if (!*selected) continue;
        }
        bool violates = false;
        if (!take(state, wish, device, violates)) {
            if (!wish.all) continue;
            if (!violates) return Outcome::None;
            return fail(Error(Reason::BadRequest, "claim " + state.text() + ", request " + wish.name + ": cannot add device " + device.key +
                                                      " because a claim constraint would not be satisfied"));
        }
        const Outcome outcome = next_device(claim, request, wish, index + 1, i + 1);
        if (outcome == Outcome::Found) return outcome;
        put_back(state, wish, device);
        if (outcome != Outcome::None) return outcome;
    }
    return Outcome::None;
}

/// What the request would consume of the device's capacities; nullopt if there is not as much left.
std::optional<Capacities> DeviceAllocator::room_for(const Wish& wish, const DeviceRecord& device) {
    if (!wish.capacity && !is_shareable(*device.device)) return Capacities();
    steps_ += device.device->capacity.size();
    auto amounts = capacities_for(*device.device, wish.capacity);
    if (!amounts) return std::nullopt;
    const auto shared = shared_.find(&device);
    const DeviceUse* in_this_attempt = shared == shared_.end() ? nullptr : &shared->second;
    return has_room(*device.device, *amounts, {world_.find_use(device.key), in_this_attempt}) ? amounts : std::nullopt;
}

/// What administrators only look at may be in use; but not twice in one claim.
bool DeviceAllocator::take(ClaimState& claim, const Wish& wish, const DeviceRecord& device, bool& constraint_violated) {
    const auto users = taken_.find(&device);
    const bool is_taken = users != taken_.end() && !users->second.empty();
    const DeviceUse* use = world_.find_use(device.key);
    if (wish.admin_access ? is_taken && users->second.contains(&claim) : is_taken || (use && use->owners > 0)) return false;
    if (is_tainted(*device.device, *wish.tolerations)) return false;
    auto amounts = room_for(wish, device);
    if (!amounts) return false;
    const bool shareable = is_shareable(*device.device);
    const bool has_counters = !shareable || !((use && use->shares > 0) || shared_.contains(&device));
    if (has_counters && !take_counters(device)) return false;
    steps_ += claim.constraints.size();
    for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
        if (claim.constraints[i].add(wish.name, device)) continue;
        while (i > 0) claim.constraints[--i].remove(wish.name);
        if (has_counters) put_back_counters(device);
        constraint_violated = true;
        return false;
    }
    if (shareable)
        shared_[&device].change_share(*amounts, 1);
    else
        taken_[&device].insert(&claim);
    claim.taken.push_back({&wish, &device, shareable ? std::move(amounts) : std::nullopt, has_counters});
    ++taken_in_all_;
    return true;
}

void DeviceAllocator::put_back(ClaimState& claim, const Wish& wish, const DeviceRecord& device) {
    --taken_in_all_;
    const Taken last = std::move(claim.taken.back());
    claim.taken.pop_back();
    if (last.share) {
        DeviceUse& use = shared_[&device];
        use.change_share(*last.share, -1);
        if (use.is_over()) shared_.erase(&device);
    } else {
        taken_[&device].erase(&claim);
    }
    for (ConstraintState& constraint : claim.constraints) constraint.remove(wish.name);
    if (last.has_counters) put_back_counters(device);
}

std::unordered_map<std::string, Quantity>& DeviceAllocator::counters_of(const DevicePool& pool) {
    const auto [found, is_new] = counters_.try_emplace(&pool, pool.counters);
    if (!is_new) return found->second;
    for (const DeviceRecord& device : pool.devices) {
        if (device.device->consumes_counters.empty() || !world_.find_use(device.key)) continue;
        for (const DeviceCounterConsumption& one : device.device->consumes_counters)
            for (const auto& [name, counter] : one.counters) found->second[one.counter_set + "/" + name] -= counter.value;
    }
    return found->second;
}

bool DeviceAllocator::take_counters(const DeviceRecord& device) {
    if (device.device->consumes_counters.empty()) return true;
    auto& left = counters_of(*device.pool);
    for (const DeviceCounterConsumption& one : device.device->consumes_counters) {
        steps_ += one.counters.size();
        for (const auto& [name, counter] : one.counters) left[one.counter_set + "/" + name] -= counter.value;
    }
    for (const DeviceCounterConsumption& one : device.device->consumes_counters)
        for (const auto& [name, counter] : one.counters) {
            if (!left[one.counter_set + "/" + name].is_negative()) continue;
            put_back_counters(device);
            return false;
        }
    return true;
}

void DeviceAllocator::put_back_counters(const DeviceRecord& device) {
    if (device.device->consumes_counters.empty()) return;
    auto& left = counters_of(*device.pool);
    for (const DeviceCounterConsumption& one : device.device->consumes_counters)
        for (const auto& [name, counter] : one.counters) left[one.counter_set + "/" + name] += counter.value;
}

AllocationResult DeviceAllocator::result_of(const ClaimState& state, const std::string& node) const {
    AllocationResult result;
    std::vector<const DeviceRecord*> devices;
    for (const Taken& taken : state.taken) {
        DeviceRequestAllocationResult& one = result.devices.results.emplace_back();
        one.request = taken.wish->name;
        one.driver = taken.device->pool->driver;
        one.pool = taken.device->pool->name;
        one.device = taken.device->device->name;
        if (taken.wish->admin_access) one.admin_access = true;
        one.tolerations = *taken.wish->tolerations;
        one.binding_conditions = taken.device->device->binding_conditions;
        one.binding_failure_conditions = taken.device->device->binding_failure_conditions;
        if (taken.share) {
            one.share_id = world_.make_share_id();
            one.consumed_capacity = *taken.share;
        }
        devices.push_back(taken.device);
    }
    result.node_selector = common_nodes(devices, node);

    // The configuration of a class once, for all requests that use it; then the claim's own, as far as it is for what was chosen.
    const auto& spec = state.claim->spec.devices;
    auto& config = result.devices.config;
    std::map<std::string, std::pair<std::size_t, std::size_t>> of_class;
    for (const Request& request : state.requests) {
        if (request.alternatives.empty()) continue;
        const Wish& wish = request.alternatives[request.selected];
        const auto [known, is_new] = of_class.try_emplace(wish.device_class->metadata.name, config.size(), config.size());
        if (is_new) {
            for (const DeviceClassConfiguration& one : wish.device_class->spec.config) {
                DeviceAllocationConfiguration& made = config.emplace_back();
                made.opaque = one.opaque;
                made.source = "FromClass";
            }
            known->second.second = config.size();
        }
        for (std::size_t i = known->second.first; i < known->second.second; ++i) config[i].requests.push_back(wish.name);
    }
    const auto is_chosen = [&](const std::string& name) {
        return std::ranges::any_of(state.requests, [&](const Request& request) {
            if (request.alternatives.empty()) return false;
            const std::string& chosen = request.alternatives[request.selected].name;
            return chosen == name || chosen.substr(0, chosen.find('/')) == name;
        });
    };
    for (const DeviceClaimConfiguration& one : spec.config) {
        if (!one.requests.empty() && std::ranges::none_of(one.requests, is_chosen)) continue;
        DeviceAllocationConfiguration& made = config.emplace_back();
        made.opaque = one.opaque;
        made.source = "FromClaim";
        made.requests = one.requests;
    }
    return result;
}

}  // namespace porthole::scheduler
