#include "cni/node_network/node_network.h"

#include <algorithm>

namespace porthole::cni {

namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;

constexpr Duration LookAgain = 1min;

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
    // Without the module the setting is absent; then the proxy makes neighbours answer through the node.
    bridge_netfilter_ = context_.stack.set_setting("net/bridge/bridge-nf-call-iptables", "1").has_value();
    for (const net::Route& route : wanted_routes(options_, {})) TRY_VOID(context_.stack.set_route(route));
    return {};
}

Task<> NodeNetwork::run() {
    CO_CHECK(co_await nodes_informer_.core().wait_for_sync());
    for (;;) {
        wake_.reset();
        const auto done = co_await reconcile();
        if (!done && done.error().reason == Reason::Cancelled) co_return done.error();
        if (!done) context_.log.warn("node network not in order", {{"error", done.error().message}});
        const auto woken = co_await with_timeout(wake_.wait(), done ? LookAgain : Duration(5s), "waiting for a change");
        if (!woken && woken.error().reason != Reason::Timeout) co_return woken.error();
    }
}

Task<> NodeNetwork::reconcile() {
    CO_CHECK(reconcile_routes());
    const auto self = nodes_.find(options_.node_name);
    if (self == nodes_.end() || self->second.pod_prefixes.empty() || self->second.pod_prefixes == configured_) co_return {};
    const std::vector<IpPrefix> prefixes = self->second.pod_prefixes;
    CO_CHECK(co_await context_.nft.run(masquerade_rules(options_, prefixes)));
    // Last: with the configuration in place the runtime starts pods.
    CO_CHECK(reconcile_configuration());
    configured_ = prefixes;
    context_.log.info("pod network ready", {{"range", prefixes.front().to_string()}, {"bridge", options_.bridge}});
    co_return {};
}

Result<void> NodeNetwork::reconcile_routes() {
    const std::vector<net::Route> wanted = wanted_routes(options_, nodes_);
    TRY(const std::vector<net::Route> present, context_.stack.own_routes());
    const auto same = [](const net::Route& a, const net::Route& b) {
        return a.destination == b.destination && a.kind == b.kind && a.gateway == b.gateway;
    };
    for (const net::Route& route : present) {
        const bool keep = std::ranges::any_of(wanted, [&](const net::Route& other) { return same(route, other); });
        if (!keep) TRY_VOID(context_.stack.remove_route(route));
    }
    for (const net::Route& route : wanted) {
        if (std::ranges::any_of(present, [&](const net::Route& other) { return same(route, other); })) continue;
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

Result<void> NodeNetwork::reconcile_configuration() {
    const int mtu = options_.mtu > 0 ? options_.mtu : context_.stack.uplink_mtu();
    const std::string text = cni_configuration(options_, nodes_.at(options_.node_name).pod_prefixes, mtu);
    const auto present = context_.files.read(configuration_file());
    if (present && *present == text) return {};
    TRY_VOID(context_.files.create_directories(options_.cni_conf_dir, 0755));
    // Another ending while it is written, so that the runtime never reads half a file.
    const std::string temporary = configuration_file() + ".new";
    TRY_VOID(context_.files.write(temporary, text, 0600));
    return context_.files.rename(temporary, configuration_file());
}

Task<> NodeNetwork::remove() {
    const auto present = context_.stack.own_routes();
    if (present) {
        for (const net::Route& route : *present) CO_CHECK(context_.stack.remove_route(route));
    }
    CO_CHECK(context_.stack.remove_device(options_.bridge));
    CO_CHECK(co_await context_.nft.run("table ip " + options_.nft_table + "\ndelete table ip " + options_.nft_table + "\n"));
    (void)context_.files.remove(configuration_file());
    co_return {};
}

}  // namespace porthole::cni
