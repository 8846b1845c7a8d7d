#include "node_network/node_network.h"

#include <tuple>

#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::cni {

namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;

constexpr Duration LookAgain = 1min;
/// Once pods have a network: each change of a node costs work for all nodes, and a node can change as often as it likes.
constexpr Duration ReadyPause = 200ms;

/// What makes a route another one.
auto key_of(const net::Route& route) { return std::tuple(route.destination, route.kind, route.gateway); }

NodeRanges ranges_of(const core::Node& node) {
    NodeRanges ranges;
    for (const core::NodeAddress& address : node.status.addresses) {
        if (address.type != "InternalIP" || ranges.address) continue;
        if (const auto parsed = IpAddress::parse(address.address); parsed && parsed->is_v4()) ranges.address = *parsed;
    }
    std::vector<std::string> cidrs = node.spec.pod_cidrs;
    if (cidrs.empty() && !node.spec.pod_cidr.empty()) cidrs.push_back(node.spec.pod_cidr);
    for (const std::string& cidr : cidrs) {
        if (const auto prefix = IpPrefix::parse(cidr); prefix && prefix->base().is_v4()) ranges.pod_prefixes.push_back(*prefix);
    }
    ranges.lease = flannel::lease_of(node);
    return ranges;
}

}  // namespace

NodeNetwork::NodeNetwork(NodeNetworkContext context, NodeNetworkOptions options)
    : context_(std::move(context)), options_(std::move(options)), nodes_informer_(context_.informers.get<core::Node>()) {
    nodes_informer_.subscribe({.added = [this](const auto& now) { node_seen(*now); },
                               .updated = [this](const auto&, const auto& now) { node_seen(*now); },
                               .deleted =
                                   [this](const auto& last) {
                                       nodes_.erase(last->metadata.name);
                                       wake_.set();
                                   }});
}

void NodeNetwork::node_seen(const core::Node& node) {
    NodeRanges ranges = ranges_of(node);
    NodeRanges& known = nodes_[node.metadata.name];
    if (known == ranges) return;  // a heartbeat
    known = std::move(ranges);
    wake_.set();
}

Result<void> NodeNetwork::prepare() {
    TRY_VOID(context_.stack.set_setting("net/ipv4/ip_forward", "1"));
    // Without the module the setting is absent; then the proxy makes neighbors answer through the node.
    bridge_netfilter_ = context_.stack.set_setting("net/bridge/bridge-nf-call-iptables", "1").has_value();
    for (const net::Route& route : wanted_routes(options_, {})) TRY_VOID(context_.stack.set_route(route));
    return {};
}

Task<> NodeNetwork::run() {
    CO_TRY_VOID(co_await nodes_informer_.core().wait_for_sync());
    for (;;) {
        wake_.reset();
        const auto done = co_await reconcile();
        if (is_cancelled(done)) co_return done.error();
        if (!done) context_.log.warn("node network setup failed", {{"error", done.error().message}});
        const auto woken = co_await with_timeout(wake_.wait(), done ? LookAgain : Duration(5s), "waiting for a change");
        if (!woken && woken.error().reason != Reason::Timeout) co_return woken.error();
        if (ready()) CO_TRY_VOID(co_await context_.loop.sleep(ReadyPause));
    }
}

Task<> NodeNetwork::reconcile() {
    const auto self = nodes_.find(options_.node_name);
    const bool has_range = self != nodes_.end() && !self->second.pod_prefixes.empty();
    if (has_range && options_.backend == flannel::Backend::Vxlan) CO_TRY_VOID(reconcile_overlay(self->second.pod_prefixes.front()));
    CO_TRY_VOID(reconcile_routes());
    if (!has_range) co_return {};
    const NodeRanges ranges = self->second;
    if (ranges.pod_prefixes != configured_) CO_TRY_VOID(co_await configure(ranges.pod_prefixes));
    co_return co_await publish(ranges);
}

Task<> NodeNetwork::configure(std::vector<IpPrefix> prefixes) {
    CO_TRY_VOID(co_await context_.nft.run(masquerade_rules(options_, prefixes)));
    // Last: with the configuration in place the runtime starts pods.
    CO_TRY_VOID(write_configuration(prefixes));
    configured_ = prefixes;
    context_.log.info("pod network ready", {{"range", prefixes.front().to_string()}, {"bridge", options_.bridge}});
    co_return {};
}

int NodeNetwork::pod_mtu() const {
    const int mtu = options_.mtu > 0 ? options_.mtu : context_.stack.uplink_mtu();
    return mtu - flannel::overhead(options_.backend);
}

Result<void> NodeNetwork::reconcile_overlay(const IpPrefix& pod_prefix) {
    const net::OverlayDevice device = overlay_device(options_, pod_prefix, pod_mtu());
    TRY_VOID(context_.overlay.ensure(device));
    const std::vector<net::OverlayPeer> list = wanted_peers(options_, nodes_);
    const std::set<net::OverlayPeer> wanted(list.begin(), list.end());
    std::set<net::OverlayPeer> present;
    for (const net::OverlayPeer& peer : peers_) {
        if (!wanted.contains(peer) && !is_done(peer, context_.overlay.remove_peer(device.name, peer))) present.insert(peer);
    }
    // All of them each time: they went if the device did.
    for (const net::OverlayPeer& peer : wanted) {
        if (is_done(peer, context_.overlay.set_peer(device.name, peer))) present.insert(peer);
    }
    peers_ = std::move(present);
    std::erase_if(refused_peers_, [&](const net::OverlayPeer& peer) { return !wanted.contains(peer) && !peers_.contains(peer); });
    return {};
}

/// A node says itself where it is. One that says what the kernel refuses must not keep the others from being reached.
bool NodeNetwork::is_done(const net::OverlayPeer& peer, const Result<void>& done) {
    if (done) {
        refused_peers_.erase(peer);
    } else if (refused_peers_.insert(peer).second) {
        context_.log.warn("the overlay does not take a node",
                          {{"node", peer.node.to_string()}, {"mac", peer.mac}, {"error", done.error().message}});
    }
    return done.has_value();
}

/// Nodes of the other system, and Flannel's own daemon, find their way here by these.
Task<> NodeNetwork::publish(NodeRanges ranges) {
    const IpPrefix range = ranges.pod_prefixes.front();
    flannel::Lease own{.node = options_.node_name, .subnet = range, .public_ip = options_.node_address, .backend = options_.backend};
    if (options_.backend == flannel::Backend::Vxlan) {
        own.vni = options_.vni;
        own.vtep_mac = overlay_device(options_, range, 0).mac;
    }
    if (ranges.lease == own) co_return {};
    schema::Value changed = schema::Value::object();
    for (const auto& [name, value] : flannel::annotations_of(own)) changed[name] = value;
    const schema::Value patch = schema::Value::object({{"metadata", schema::Value::object({{"annotations", std::move(changed)}})}});
    const client::NamespacedName key{"", options_.node_name};
    CO_TRY_VOID((co_await context_.client.patch<core::Node>(key, client::PatchType::Merge, schema::to_json(patch))));
    co_return {};
}

Result<void> NodeNetwork::reconcile_routes() {
    const std::vector<net::Route> wanted = wanted_routes(options_, nodes_);
    TRY(const std::vector<net::Route> present, context_.stack.own_routes());
    std::set<decltype(key_of({}))> wanted_keys, present_keys;
    for (const net::Route& route : wanted) wanted_keys.insert(key_of(route));
    for (const net::Route& route : present) {
        present_keys.insert(key_of(route));
        if (!wanted_keys.contains(key_of(route))) TRY_VOID(context_.stack.remove_route(route));
    }
    for (const net::Route& route : wanted) {
        if (present_keys.contains(key_of(route))) continue;
        const auto set = context_.stack.set_route(route);
        if (set) {
            refused_.erase(route.destination);
        } else if (refused_.insert(route.destination).second) {
            // One node that is out of reach must not keep the others from being routed to.
            context_.log.warn("no route to the pods of a node", {{"range", route.destination.to_string()}, {"error", set.error().message}});
        }
    }
    return {};
}

std::string NodeNetwork::configuration_file() const { return join_path(options_.cni_conf_dir, "10-porthole.conflist"); }

Result<void> NodeNetwork::write_configuration(const std::vector<IpPrefix>& prefixes) {
    const std::string text = cni_configuration(options_, prefixes, pod_mtu());
    const auto present = context_.files.read(configuration_file());
    if (present && *present == text) return {};
    TRY_VOID(context_.files.create_directories(options_.cni_conf_dir, 0755));
    return context_.files.replace(configuration_file(), text, 0600);
}

Task<> NodeNetwork::remove() {
    const auto present = context_.stack.own_routes();
    if (present) {
        for (const net::Route& route : *present) CO_TRY_VOID(context_.stack.remove_route(route));
    }
    CO_TRY_VOID(context_.stack.remove_device(options_.bridge));
    if (options_.backend == flannel::Backend::Vxlan) CO_TRY_VOID(context_.stack.remove_device(overlay_device(options_, {}, 0).name));
    CO_TRY_VOID(co_await context_.nft.run("table ip " + options_.nft_table + "\ndelete table ip " + options_.nft_table + "\n"));
    (void)context_.files.remove(configuration_file());
    co_return {};
}

}  // namespace porthole::cni
