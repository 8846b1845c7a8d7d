#include "cni/flannel/daemon.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "base/strings.h"
#include "runtime/files/closed_directory.h"
#include "schema/json/json.h"

namespace porthole::cni::flannel {

namespace core = api::core::v1;

namespace {

constexpr std::size_t LargestConfiguration = 1 << 20;
/// Once pods have a network: each change of a node costs work for all nodes, and a node can change as often as it likes.
constexpr Duration Pause = std::chrono::milliseconds(200);

}  // namespace

Daemon::Daemon(DaemonContext context, DaemonOptions options)
    : context_(std::move(context)), options_(std::move(options)), nodes_(context_.informers.get<core::Node>()) {
    nodes_.subscribe({.added = [this](const auto& now) { node_seen(*now); },
                      .updated = [this](const auto&, const auto& now) { node_seen(*now); },
                      .deleted =
                          [this](const auto& last) {
                              leases_.erase(last->metadata.name);
                              wake_.set();
                          }});
}

void Daemon::node_seen(const core::Node& node) {
    const auto lease = lease_of(node);
    const auto known = leases_.find(node.metadata.name);
    if (lease ? known != leases_.end() && known->second == *lease : known == leases_.end()) return;  // a heartbeat
    if (lease) {
        leases_.insert_or_assign(node.metadata.name, *lease);
    } else {
        leases_.erase(known);
    }
    wake_.set();
}

Task<> Daemon::run() {
    // Plugins believe what is there.
    CO_TRY_VOID(create_closed_directory(context_.files, parent_path(options_.subnet_file), context_.log));
    CO_TRY_VOID(co_await nodes_.core().wait_for_sync());
    for (;;) {
        wake_.reset();
        was_making_ = false;
        const auto done = co_await reconcile();
        if (!was_making_) making_since_.reset();
        if (is_cancelled(done)) co_return done.error();
        if (making_since_ && context_.loop.now() - *making_since_ >= options_.network_patience)
            co_return Error(Reason::Timeout, "the HNS network " + options_.network.name + " could not be created: " + done.error().message);
        const std::string trouble = done ? "" : done.error().message;
        // What goes on is told once.
        if (!trouble.empty() && trouble != trouble_) context_.log.warn("node network setup failed", {{"error", trouble}});
        trouble_ = trouble;
        const auto woken = co_await with_timeout(wake_.wait(), until_next_look(), "waiting for a change");
        if (!woken && woken.error().reason != Reason::Timeout) co_return woken.error();
        if (ready_) CO_TRY_VOID(co_await context_.loop.sleep(Pause));
    }
}

/// The last attempt to create a network is made when its time is over.
Duration Daemon::until_next_look() const {
    if (!making_since_) return options_.check_interval;
    return std::min(options_.check_interval, *making_since_ + options_.network_patience - context_.loop.now());
}

/// One node does not decide for all: what it publishes it writes itself.
Result<void> Daemon::check_back_ends() const {
    const auto other = find_other_backend(leases_, options_.node_name, options_.network.backend);
    const auto agrees = [&](const auto& entry) {
        return entry.first != options_.node_name && entry.second.backend == options_.network.backend;
    };
    if (!other || ready_ || std::ranges::any_of(leases_, agrees)) return {};
    return Error(Reason::BadRequest, std::string("this node is configured for the back end ") + to_string(options_.network.backend) +
                                         ", but node " + other->node + " has " + to_string(*other->backend) +
                                         "; all nodes of a cluster need the same");
}

Error Daemon::what_is_missing(const core::Node& self) const {
    if (!self.spec.pod_cidrs.empty() && !pod_range_of(self)) {
        return Error(Reason::BadRequest, "the node " + options_.node_name + " has pod ranges of IPv6 alone (" +
                                             self.spec.pod_cidrs.front() +
                                             "): single-stack IPv6 clusters are not supported with Windows nodes");
    }
    return Error(Reason::NotFound, "the node " + options_.node_name + " has no pod range (spec.podCIDR) or address in the API yet");
}

Task<> Daemon::reconcile() {
    const auto self = nodes_.find({"", options_.node_name});
    if (!self) co_return Error(Reason::NotFound, "the node " + options_.node_name + " is not in the API yet; its kubelet registers it");
    const auto lease = lease_of(*self);
    if (!lease) co_return what_is_missing(*self);
    CO_TRY_VOID(check_back_ends());
    if (subnet_ != lease->subnet) {
        network_ =
            std::make_unique<WindowsNetwork>(WindowsNetworkContext{context_.loop, context_.hns, context_.routes, context_.log},
                                             WindowsNetworkOptions{options_.network, lease->subnet, options_.address, options_.adapter});
        subnet_ = lease->subnet;
    }
    CO_TRY_VOID(co_await ensure_network());
    CO_TRY_VOID(co_await publish(*self));
    CO_TRY_VOID(co_await network_->follow(others()));
    // Last: with the configuration in place the runtime starts pods.
    CO_TRY_VOID(write_files(*subnet_));
    if (!ready_) context_.log.info("pod network ready", {{"network", options_.network.name}, {"range", subnet_->to_string()}});
    ready_ = true;
    co_return {};
}

Task<> Daemon::ensure_network() {
    const auto made = co_await network_->ensure();
    if (made || is_cancelled(made)) co_return made;
    was_making_ = true;
    if (!making_since_) making_since_ = context_.loop.now();
    context_.log.info(
        "Waiting for the Network to be created",
        {{"network", options_.network.name}, {"error", made.error().message}, {"adapters", context_.adapters ? context_.adapters() : ""}});
    co_return made;
}

std::vector<Lease> Daemon::others() const {
    std::vector<Lease> found;
    const std::array cluster{options_.network.network}, own{*subnet_};
    for (const auto& [name, lease] : leases_) {
        if (name == options_.node_name || lease.public_ip == options_.address) continue;
        if (lease.backend.value_or(options_.network.backend) != options_.network.backend) continue;
        if (may_be_of_another_node(lease.subnet, cluster, options_.service_prefixes, own)) found.push_back(lease);
    }
    return found;
}

Task<> Daemon::publish(const core::Node& self) {
    const Lease own{.node = options_.node_name,
                    .subnet = *subnet_,
                    .public_ip = options_.address,
                    .backend = options_.network.backend,
                    .vni = options_.network.vni,
                    .vtep_mac = network_->router_mac()};
    schema::Value changed = schema::Value::object();
    std::map<std::string, std::string> wanted = annotations_of(own);
    if (!options_.cni_config_file.empty()) wanted[NatExceptionsAnnotation] = nat_exceptions();
    for (const auto& [name, value] : wanted) {
        const auto present = self.metadata.annotations.find(name);
        if (present == self.metadata.annotations.end() || present->second != value) changed[name] = value;
    }
    if (changed.as_object().empty()) co_return {};
    const schema::Value patch = schema::Value::object({{"metadata", schema::Value::object({{"annotations", std::move(changed)}})}});
    const client::NamespacedName key{"", options_.node_name};
    CO_TRY_VOID((co_await context_.client.patch<core::Node>(key, client::PatchType::Merge, schema::to_json(patch))));
    co_return {};
}

/// Of the configuration that counts: the first of its folder by name, which may be somebody's own.
std::string Daemon::nat_exceptions() {
    const std::string folder = parent_path(options_.cni_config_file);
    auto names = context_.files.list(folder).value_or(std::vector<std::string>());
    std::erase_if(names, [](const std::string& name) {
        return !name.ends_with(".conf") && !name.ends_with(".conflist") && !name.ends_with(".json");
    });
    if (names.empty()) return "";
    std::vector<std::string> ranges;
    if (const auto text = context_.files.read(join_path(folder, *std::ranges::min_element(names)), LargestConfiguration))
        ranges = nat_exceptions_of(*text);
    return join(ranges, ",");
}

Result<void> Daemon::write_files(const IpPrefix& subnet) {
    const SubnetFile file{.network = options_.network.network,
                          .subnet = subnet,
                          .mtu = options_.mtu - overhead(options_.network.backend),
                          .ip_masq = options_.ip_masq};
    TRY_VOID(write(options_.subnet_file, to_text(file)));
    if (options_.cni_config_file.empty()) return {};
    return write(options_.cni_config_file, windows_cni_configuration({.network = options_.network,
                                                                      .subnet = subnet,
                                                                      .service_prefixes = options_.service_prefixes,
                                                                      .management_address = options_.address,
                                                                      .management_network = options_.address_network,
                                                                      .cluster_dns = options_.cluster_dns,
                                                                      .cluster_domain = options_.cluster_domain}));
}

Result<void> Daemon::write(const std::string& path, const std::string& text) {
    const auto present = context_.files.read(path);
    if (present && *present == text) return {};
    TRY_VOID(context_.files.create_directories(parent_path(path), 0755));
    return context_.files.replace(path, text, 0644);
}

}  // namespace porthole::cni::flannel
