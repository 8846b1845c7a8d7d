#include "cni/plugin/host_local/host_local.h"

#include <algorithm>

#include "cni/plugin/errors.h"
#include "cni/plugin/host_local/leases.h"
#include "cni/plugin/host_local/range_set.h"

namespace porthole::cni {

using schema::Value;

namespace {

constexpr const char *NodeOwner = "porthole-node", *NodeInterface = "source-vip";

Holder holder_of(const CniRequest& request) { return {request.container_id, request.interface}; }

/// Old leases do not say their interface.
bool is_held_by(const Leases::Lease& lease, const Holder& holder) {
    return lease.holder.container_id == holder.container_id &&
           (lease.holder.interface.empty() || lease.holder.interface == holder.interface);
}

/// Addresses that the runtime asks for, of three places where it may say so.
Result<std::vector<IpAddress>> requested_addresses(const CniRequest& request) {
    std::vector<std::string> texts;
    const auto add_list = [&](const Value* list) {
        if (!list || !list->is_array()) return;
        for (const Value& item : list->as_array()) texts.emplace_back(item.string_or(""));
    };
    if (const auto argument = request.arguments.find("IP"); argument != request.arguments.end()) texts.push_back(argument->second);
    add_list(request.config.at_path({"args", "cni", "ips"}));
    add_list(request.config.at_path({"runtimeConfig", "ips"}));
    std::vector<IpAddress> addresses;
    for (const std::string& text : texts) {
        auto address = IpAddress::parse(text.substr(0, text.find('/')));
        if (!address) return cni_error(CniCode::InvalidConfig, "requested address: " + address.error().message);
        addresses.push_back(*address);
    }
    return addresses;
}

Result<void> read_routes(const Value& ipam, CniResult& result) {
    const Value* routes = ipam.find("routes");
    if (!routes || !routes->is_array()) return {};
    for (const Value& item : routes->as_array()) {
        auto destination = IpPrefix::parse(item.string_at({"dst"}));
        if (!destination) return cni_error(CniCode::InvalidConfig, "routes: " + destination.error().message);
        CniResult::Route route{.destination = *destination};
        if (const auto text = item.string_at({"gw"}); !text.empty()) {
            auto gateway = IpAddress::parse(text);
            if (!gateway) return cni_error(CniCode::InvalidConfig, "routes: " + gateway.error().message);
            route.gateway = *gateway;
        }
        result.routes.push_back(route);
    }
    return {};
}

/// A free address of the set, beginning after the one given out last, so that an address rests before it comes again.
Result<IpAddress> choose(const RangeSet& set, const std::vector<Leases::Lease>& leases, std::optional<IpAddress> last,
                         std::vector<IpAddress>& requested) {
    const auto taken = [&](const IpAddress& address) {
        return std::ranges::any_of(leases, [&](const Leases::Lease& lease) { return lease.address == address; });
    };
    const auto asked = std::ranges::find_if(requested, [&](const IpAddress& address) { return find_range(set, address) != nullptr; });
    if (asked != requested.end()) {
        const IpAddress address = *asked;
        requested.erase(asked);
        if (is_gateway(set, address))
            return cni_error(CniCode::NoAddresses, "requested IP " + address.to_string() + " is the subnet's gateway");
        if (taken(address))
            return cni_error(CniCode::NoAddresses,
                             "requested IP address " + address.to_string() + " is not available in range set " + to_string(set));
        return address;
    }
    if (last && !find_range(set, *last)) last.reset();
    const IpAddress begin = next_address(set, last);
    IpAddress address = begin;
    do {
        if (!is_gateway(set, address) && !taken(address)) return address;
        address = next_address(set, address);
    } while (address != begin);
    return cni_error(CniCode::NoAddresses, "no IP addresses available in range set: " + to_string(set));
}

}  // namespace

/// The folder of a network, locked.
struct HostLocal::Store {
    std::unique_ptr<FileLock> lock;
    Leases leases;
    Value ipam;
};

Result<HostLocal::Store> HostLocal::open(const CniRequest& request) {
    const Value* ipam = request.config.find("ipam");
    if (!ipam || !ipam->is_object()) return cni_error(CniCode::InvalidConfig, "IPAM config missing 'ipam' key");
    std::string folder(ipam->string_at({"dataDir"}));
    folder = join_path(folder.empty() ? options_.data_dir : folder, request.network);
    if (!files_.exists(folder)) {
        TRY_VOID(files_.create_directories(folder, 0755));
        TRY_VOID(files_.restrict_to_administrators(folder));
    }
    TRY(auto lock, locks_.lock(join_path(folder, "lock")));
    return Store{std::move(lock), Leases(files_, folder, options_.colons), *ipam};
}

Result<CniResult> HostLocal::allocate(const CniRequest& request) {
    TRY(Store store, open(request));
    TRY(const auto sets, read_range_sets(store.ipam, schema::at(schema::at(request.config, "runtimeConfig"), "ipRanges")));
    TRY(auto requested, requested_addresses(request));
    TRY(const auto leases, store.leases.list());
    const Holder holder = holder_of(request);
    CniResult result;
    std::vector<std::pair<std::size_t, IpAddress>> fresh;
    for (std::size_t i = 0; i < sets.size(); ++i) {
        const auto held = std::ranges::find_if(
            leases, [&](const Leases::Lease& lease) { return is_held_by(lease, holder) && find_range(sets[i], lease.address) != nullptr; });
        IpAddress address;
        if (held != leases.end()) {
            address = held->address;
        } else {
            TRY(address, choose(sets[i], leases, store.leases.last_reserved(i), requested));
            fresh.emplace_back(i, address);
        }
        const Range& range = *find_range(sets[i], address);
        result.ips.push_back({.address = address, .prefix_length = range.subnet.length(), .gateway = range.gateway});
    }
    if (!requested.empty() && fresh.size() == sets.size())
        return cni_error(CniCode::InvalidConfig, "requested IP " + requested.front().to_string() + " is in no range");
    TRY_VOID(read_routes(store.ipam, result));
    // Only now that nothing else can fail: all leases or none.
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        auto put = store.leases.put(fresh[i].second, holder);
        if (put) put = store.leases.set_last_reserved(fresh[i].first, fresh[i].second);
        if (put) continue;
        for (std::size_t j = 0; j <= i; ++j) (void)store.leases.remove(fresh[j].second);
        return put.error();
    }
    return result;
}

Task<CniResult> HostLocal::add(CniRequest request) { co_return allocate(request); }

Task<> HostLocal::remove(CniRequest request) {
    CO_TRY(Store store, open(request));
    CO_TRY(const auto leases, store.leases.list());
    for (const Leases::Lease& lease : leases) {
        if (is_held_by(lease, holder_of(request))) CO_TRY_VOID(store.leases.remove(lease.address));
    }
    co_return {};
}

Task<> HostLocal::check(CniRequest request) {
    CO_TRY(Store store, open(request));
    CO_TRY(const auto leases, store.leases.list());
    const bool found = std::ranges::any_of(leases, [&](const Leases::Lease& lease) { return is_held_by(lease, holder_of(request)); });
    if (!found) co_return cni_error(CniCode::Internal, "host-local: Failed to find address added by container " + request.container_id);
    co_return {};
}

Task<> HostLocal::status(CniRequest request) {
    CO_TRY(Store store, open(request));
    CO_TRY_VOID((read_range_sets(store.ipam, schema::null_value())));
    co_return {};
}

Task<> HostLocal::collect(CniRequest request) {
    CO_TRY(Store store, open(request));
    CO_TRY(const auto leases, store.leases.list());
    const auto valid = valid_attachments(request);
    for (const Leases::Lease& lease : leases) {
        if (is_held_by(lease, {NodeOwner, NodeInterface})) continue;
        const bool wanted = std::ranges::any_of(valid, [&](const auto& pair) { return is_held_by(lease, {pair.first, pair.second}); });
        if (!wanted) CO_TRY_VOID(store.leases.remove(lease.address));
    }
    co_return {};
}

Result<IpAddress> HostLocal::reserve_for_node(const std::string& network, const IpPrefix& range) {
    CniRequest request{.command = "ADD", .container_id = NodeOwner, .interface = NodeInterface, .network = network};
    request.config = Value::object({{"ipam", Value::object({{"subnet", range.to_string()}})}});
    TRY(const CniResult result, allocate(request));
    const IpAddress address = result.ips.front().address;
    // A node that has another range now has no use for its address of the former one.
    TRY(Store store, open(request));
    TRY(const auto leases, store.leases.list());
    for (const Leases::Lease& lease : leases) {
        if (is_held_by(lease, holder_of(request)) && lease.address != address) TRY_VOID(store.leases.remove(lease.address));
    }
    return address;
}

}  // namespace porthole::cni
