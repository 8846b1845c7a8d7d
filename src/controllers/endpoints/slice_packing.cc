#include "controllers/endpoints/slice_packing.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "controllers/endpoints/port_key.h"

namespace porthole::controllers::endpoints {
namespace {

/// What makes an endpoint the same one although its state may have changed.
std::string identity(const Endpoint& endpoint) {
    std::string text = endpoint.target_ref ? endpoint.target_ref->uid : "";
    for (const std::string& address : endpoint.addresses) text += " " + address;
    return text;
}

/// True if anything has changed.
bool bring_up_to_date(EndpointSlice& slice, const EndpointSlice& fresh, Renew renew) {
    const auto before = slice.metadata;
    slice.metadata.labels = fresh.metadata.labels;
    if (renew == Renew::Metadata) {
        slice.metadata.annotations = fresh.metadata.annotations;
        slice.metadata.owner_references = fresh.metadata.owner_references;
    }
    return slice.metadata != before;
}

/// One port group being laid out.
class Packing {
public:
    Packing(PortGroup group, std::vector<EndpointSlice> existing, const EndpointSlice& fresh, std::size_t most, Renew renew)
        : ports_(std::move(group.ports)), fresh_(fresh), most_(most), renew_(renew) {
        for (Endpoint& endpoint : group.endpoints) waiting_.emplace(identity(endpoint), std::move(endpoint));
        for (EndpointSlice& slice : existing) keep(std::move(slice));
    }

    void run(SliceChanges& changes) {
        for (EndpointSlice& slice : changed_) fill(slice);
        while (!waiting_.empty()) {
            if (const auto fullest = find_fullest_with_room()) {
                fill(unchanged_[*fullest]);
                changed_.push_back(std::move(unchanged_[*fullest]));
                break;  // it had room for all
            }
            EndpointSlice slice = fresh_;
            slice.ports = ports_;
            fill(slice);
            changes.create.push_back(std::move(slice));
        }
        for (EndpointSlice& slice : changed_) (slice.endpoints.empty() ? changes.remove : changes.update).push_back(std::move(slice));
    }

private:
    /// Drops from a slice what is no longer wanted and renews the rest.
    void keep(EndpointSlice slice) {
        std::vector<Endpoint> kept;
        bool changed = bring_up_to_date(slice, fresh_, renew_);
        for (Endpoint& endpoint : slice.endpoints) {
            const auto wanted = waiting_.find(identity(endpoint));
            if (wanted == waiting_.end()) {
                changed = true;
                continue;
            }
            changed |= !(endpoint == wanted->second);
            kept.push_back(std::move(wanted->second));
            waiting_.erase(wanted);
        }
        slice.endpoints = std::move(kept);
        (changed || slice.endpoints.empty() ? changed_ : unchanged_).push_back(std::move(slice));
    }

    void fill(EndpointSlice& slice) {
        while (!waiting_.empty() && slice.endpoints.size() < most_) {
            slice.endpoints.push_back(std::move(waiting_.begin()->second));
            waiting_.erase(waiting_.begin());
        }
    }

    std::optional<std::size_t> find_fullest_with_room() const {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < unchanged_.size(); ++i) {
            if (unchanged_[i].endpoints.size() + waiting_.size() > most_) continue;
            if (!best || unchanged_[i].endpoints.size() > unchanged_[*best].endpoints.size()) best = i;
        }
        return best;
    }

    std::vector<EndpointPort> ports_;
    const EndpointSlice& fresh_;
    std::size_t most_;
    Renew renew_;
    std::map<std::string, Endpoint> waiting_;
    std::vector<EndpointSlice> unchanged_, changed_;
};

bool is_placeholder(const EndpointSlice& slice) { return slice.endpoints.empty() && slice.ports.empty(); }

/// A slice about to go takes the content of one about to come: one write instead of two, and no moment without.
void reuse_removed(SliceChanges& changes, Renew renew) {
    while (!changes.create.empty() && !changes.remove.empty()) {
        EndpointSlice reused = std::move(changes.remove.back());
        reused.endpoints = std::move(changes.create.back().endpoints);
        reused.ports = std::move(changes.create.back().ports);
        bring_up_to_date(reused, changes.create.back(), renew);
        changes.create.pop_back();
        changes.remove.pop_back();
        changes.update.push_back(std::move(reused));
    }
}

}  // namespace

SliceChanges pack_slices(std::vector<PortGroup> groups, std::vector<EndpointSlice> existing, const EndpointSlice& fresh, std::size_t most,
                         Renew renew) {
    SliceChanges changes;
    std::erase_if(groups, [](const PortGroup& group) { return group.endpoints.empty(); });
    if (groups.empty()) {
        const auto kept = std::ranges::find_if(existing, is_placeholder);
        if (kept == existing.end())
            changes.create.push_back(fresh);
        else if (bring_up_to_date(*kept, fresh, renew))
            changes.update.push_back(*kept);
        for (auto slice = existing.begin(); slice != existing.end(); ++slice)
            if (slice != kept) changes.remove.push_back(*slice);
        reuse_removed(changes, renew);
        return changes;
    }
    std::map<std::string, std::vector<EndpointSlice>> by_ports;
    for (const PortGroup& group : groups) by_ports[port_key(group.ports)];
    std::vector<EndpointSlice> without_group;
    for (EndpointSlice& slice : existing) {
        const auto own = is_placeholder(slice) ? by_ports.end() : by_ports.find(port_key(slice.ports));
        (own == by_ports.end() ? without_group : own->second).push_back(std::move(slice));
    }
    for (PortGroup& group : groups) {
        std::vector<EndpointSlice> own = std::move(by_ports[port_key(group.ports)]);
        Packing(std::move(group), std::move(own), fresh, most, renew).run(changes);
    }
    std::ranges::move(without_group, std::back_inserter(changes.remove));
    reuse_removed(changes, renew);
    return changes;
}

}  // namespace porthole::controllers::endpoints
