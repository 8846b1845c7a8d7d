#include "proxy/hns/kernelspace_proxy.h"

#include <algorithm>

#include "base/result.h"
#include "hns/hresult.h"
#include "hns/updates.h"

namespace porthole::proxy::hns {

using namespace std::chrono_literals;
using porthole::hns::NotificationType;

namespace {

/// Known objects that are read in full with every look at the host: a small host's all, a large one's in turn.
constexpr std::size_t DocumentsPerLook = 256;
constexpr Duration ShortPause = 1s;
constexpr Duration LongestPause = 8s;  // so that a repair never takes longer than the promised ten seconds

constexpr std::string_view NoNode = "waiting for the node in the API; is --hostname-override right?";
constexpr std::string_view NodeElsewhere = "no adapter of this machine has the node's address in the API; is --hostname-override right?";

std::optional<IpAddress> first_address(const api::core::v1::Node& node) {
    const NodeView view = node_view(node);
    return view.node_port_addresses.empty() ? std::nullopt : std::optional(view.node_port_addresses.front());
}

void collect(const std::vector<std::string>& from, std::vector<IpPrefix>& into) {
    for (const std::string& text : from) {
        if (const auto prefix = IpPrefix::parse(text)) into.push_back(*prefix);
    }
}

}  // namespace

std::size_t usual_backend_limit(porthole::hns::HnsVersion version) { return version.major < 11 ? 64 : 1024; }

KernelspaceProxy::KernelspaceProxy(KernelspaceContext context, KernelspaceOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      client_(context_.hns),
      view_(client_),
      programmer_(client_, view_, context_.log,
                  [this](const FrontendKey& frontend, const Advice& advice) {
                      const ServiceTable& table = frontend.address.is_v4() ? table_v4_ : table_v6_;
                      if (const ServiceInfo* service = table.service_of(frontend)) warn(service->key, advice);
                  }),
      table_v4_(NodeView{.name = options_.node_name}),
      table_v6_(NodeView{.name = options_.node_name}),
      feed_(context_.informers, options_.node_name, [this] { changed(); }) {}

void KernelspaceProxy::changed() {
    if (!pending_since_) pending_since_ = context_.loop.now();
    wake_.set();
}

Task<> KernelspaceProxy::run() {
    CO_TRY_VOID(co_await feed_.wait_for_sync());
    CO_TRY_VOID(co_await wait_for_node());
    CO_TRY_VOID(co_await probe_host());
    fill_tables();
    co_return co_await follow_network();
}

Task<> KernelspaceProxy::listen() {
    for (;;) {
        const auto ended = co_await context_.hns.subscribe([this](const porthole::hns::Notification& notification) {
            if (notification.type == NotificationType::NamespaceCreate || notification.type == NotificationType::NamespaceDelete) return;
            look_ = true;
            wake_.set();
        });
        if (is_cancelled(ended)) co_return ended.error();
        CO_TRY_VOID(co_await context_.loop.sleep(ShortPause));
    }
}

/// Without its Node the proxy cannot tell the pods of this node from others, and takes its own for others' with the Node of another
/// machine.
Task<> KernelspaceProxy::wait_for_node() {
    std::string_view told;
    for (int tries = 0;; ++tries) {
        wake_.reset();
        const auto node = feed_.node();
        const auto address = options_.node_ip ? options_.node_ip : node ? first_address(*node) : std::nullopt;
        const std::string_view trouble = !node || !address ? NoNode : is_of_this_machine(*address) ? "" : NodeElsewhere;
        if (trouble.empty()) {
            options_.node_ip = address;
            co_return {};
        }
        if (tries % 30 == 0 || trouble != told) {
            context_.log.warn(trouble, {{"node", options_.node_name}, {"address", address ? address->to_string() : "none"}});
            told = trouble;
        }
        CO_TRY_VOID(co_await context_.loop.sleep(ShortPause));
    }
}

/// An address that was given need not be one of an adapter.
bool KernelspaceProxy::is_of_this_machine(const IpAddress& address) const {
    return options_.node_ip || !context_.mac_of || !context_.mac_of(address).empty();
}

Task<> KernelspaceProxy::probe_host() {
    for (;;) {
        auto features = co_await client_.features();
        if (features) {
            features_ = *features;
            break;
        }
        if (!porthole::hns::is_disconnected(features.error())) co_return features.error();
        context_.log.warn("the host network service is not available yet", {{"error", features.error().message}});
        CO_TRY_VOID(co_await context_.loop.sleep(ShortPause));
    }
    const std::string version = "the host network service has version " + features_.version.to_string();
    // Overlay networks need no other version: both came with one update.
    if (!features_.api_v2)
        co_return Error(Reason::MethodNotAllowed,
                        version + "; the kernelspace proxy needs 9.2 or later" + porthole::hns::missing_update(features_.version));
    if (options_.enable_dsr && !features_.direct_server_return) {
        co_return Error(Reason::MethodNotAllowed, "Platform does not support feature DSR: " + version + "; leave out --enable-dsr");
    }
    host_.dsr_supported = features_.direct_server_return;
    host_.dsr_enabled = options_.enable_dsr;
    host_.session_affinity = features_.session_affinity;
    host_.backend_limit = options_.backend_limit.value_or(usual_backend_limit(features_.version));
    context_.log.info("host network service", {{"version", features_.version.to_string()}, {"backends", host_.backend_limit}});
    co_return {};
}

void KernelspaceProxy::fill_tables() {
    const auto service = [this](ServiceInfo& info) {
        advise(info);
        adapt_service(info, host_);
    };
    feed_.fill(table_v4_, Family::V4, {service, [](NodeView& view) { view.node_port_addresses = {IpAddress()}; }});
    if (!features_.dual_stack) return;
    const auto service_v6 = [this](ServiceInfo& info) { adapt_service(info, host_); };
    feed_.fill(table_v6_, Family::V6, {service_v6, [](NodeView& view) { view.node_port_addresses = {IpAddress::v6({})}; }});
}

Task<> KernelspaceProxy::follow_network() {
    Duration pause = ShortPause;
    for (int missing = 0;;) {
        wake_.reset();
        const auto done = co_await work();
        Duration wait = programmer_.waits_for_endpoints() ? ShortPause : options_.check_interval;
        if (done) {
            pause = ShortPause;
            missing = 0;
        } else if (is_not_found(done) && !connected_) {
            if (missing++ % 10 == 0) context_.log.warn(done.error().message);
            wait = ShortPause;
        } else if (is_cancelled(done) || done.error().reason == Reason::BadRequest) {
            co_return done.error();
        } else {
            context_.log.warn("services not programmed", {{"error", done.error().message}});
            look_ = true;
            wait = pause;
            pause = std::min(pause * 2, LongestPause);
        }
        const auto woken = co_await with_timeout(wake_.wait(), wait, "waiting for a change");
        if (!woken && woken.error().reason != Reason::Timeout) co_return woken.error();
        look_ = look_ || !woken;
    }
}

/// Looks at the host if it is time, then makes it what the API wants. Wishes come first: a look removes own objects that nobody
/// wants.
Task<> KernelspaceProxy::work() {
    const bool look = look_ || context_.loop.now() - last_checked_ >= options_.check_interval;
    if (look) CO_TRY_VOID(co_await read_network());
    take_changes();
    if (look) CO_TRY_VOID(co_await check());
    const auto done = co_await sync();
    const auto limit = programmer_.learned_limit();
    if (!limit || *limit >= host_.backend_limit) co_return done;
    host_.backend_limit = *limit;
    plan_all();
    co_return co_await sync();
}

Task<> KernelspaceProxy::check() {
    look_ = false;
    CO_TRY_VOID(co_await programmer_.check(DocumentsPerLook));
    last_checked_ = context_.loop.now();
    std::erase_if(told_, [this](const auto& entry) { return !feed_.service(entry.first); });
    co_return {};
}

Task<> KernelspaceProxy::read_network() {
    const auto another = co_await view_.read_network(options_.network_name);
    if (!another) {
        if (is_not_found(another)) connected_ = false;
        co_return another.error();
    }
    if (*another) {
        programmer_.start_over();
        context_.log.info("HNS network found", {{"name", options_.network_name}, {"id", view_.network().id}});
    }
    const bool overlay = porthole::hns::type_of(view_.network()) == hcn::NetworkMode::Overlay;
    if (overlay && !options_.overlay_gate) co_return Error(Reason::BadRequest, "WinOverlay feature gate not enabled");
    if (overlay && !options_.source_vip && !context_.reserve_source_vip) co_return Error(Reason::BadRequest, "source-vip flag not set");
    connected_ = true;
    const HostFacts before = host_;
    learn_facts();
    if (overlay && !options_.source_vip) CO_TRY_VOID(reserve_source_vip());
    programmer_.set_host(host_, features_.modify_load_balancer);
    if (options_.forward_health_check_vip) CO_TRY_VOID(co_await find_root_endpoint());
    if (host_ != before || *another) plan_all();
    co_return {};
}

Task<> KernelspaceProxy::find_root_endpoint() {
    CO_TRY(const auto found, co_await client_.find<hcn::HostComputeEndpoint>(options_.root_endpoint_name));
    host_.root_address.reset();
    if (found) {
        if (const auto addresses = addresses_of(*found); !addresses.empty()) host_.root_address = addresses.front();
    }
    co_return {};
}

void KernelspaceProxy::learn_facts() {
    const hcn::HostComputeNetwork& network = view_.network();
    host_.overlay = porthole::hns::type_of(network) == hcn::NetworkMode::Overlay;
    host_.node_ip = *options_.node_ip;
    host_.mac = host_.overlay && context_.mac_of ? context_.mac_of(host_.node_ip) : "";
    if (options_.source_vip || !host_.overlay) host_.source_vip = options_.source_vip;
    host_.own_subnets.clear();
    for (const auto& ipam : network.ipams) {
        for (const auto& subnet : ipam.subnets) collect({subnet.ip_address_prefix}, host_.own_subnets);
    }
    host_.remote_subnets.clear();
    for (const auto& route : porthole::hns::all_settings<hcn::RemoteSubnetRouteSettings>(network.policies, "RemoteSubnetRoute")) {
        const auto prefix = IpPrefix::parse(route.destination_prefix);
        const auto provider = IpAddress::parse(route.provider_address);
        if (prefix && provider) host_.remote_subnets.push_back({*prefix, *provider});
    }
}

/// One of the node's range that no pod gets. A network of another range needs another.
Result<void> KernelspaceProxy::reserve_source_vip() {
    const auto fits = [this](const IpPrefix& range) { return host_.source_vip && range.contains(*host_.source_vip); };
    if (std::ranges::any_of(host_.own_subnets, fits)) return {};
    if (host_.own_subnets.empty()) return Error(Reason::Unavailable, "the overlay network " + options_.network_name + " has no range");
    TRY(host_.source_vip, context_.reserve_source_vip(options_.network_name, host_.own_subnets.front()));
    context_.log.info("source address of what the node forwards", {{"address", host_.source_vip->to_string()}});
    return {};
}

void KernelspaceProxy::plan_all() {
    for (ServiceTable* table : {&table_v4_, &table_v6_}) {
        for (const auto& [frontend, answer] : table->frontends()) plan(*table, frontend);
    }
}

void KernelspaceProxy::take_changes() {
    for (ServiceTable* table : {&table_v4_, &table_v6_}) {
        if (table == &table_v6_ && host_.overlay) continue;
        for (const FrontendKey& frontend : table->update()) plan(*table, frontend);
        tell_of_cut_services(*table, cut_[table], context_.log);
    }
    if (context_.health) context_.health->set_health(health());
}

Task<> KernelspaceProxy::sync() {
    const auto pending = std::exchange(pending_since_, std::nullopt);
    take_changes();
    const auto done = co_await programmer_.sync();
    if (!done) {
        pending_since_ = pending ? pending : context_.loop.now();
        co_return done.error();
    }
    last_synced_ = context_.loop.now();
    co_return {};
}

void KernelspaceProxy::plan(ServiceTable& table, const FrontendKey& frontend) {
    const auto found = table.frontends().find(frontend);
    const ServiceInfo* service = table.service_of(frontend);
    if (found == table.frontends().end() || !service) {
        programmer_.want(frontend, std::nullopt);
        unwant_health_check(frontend);
        return;
    }
    Planned planned = plan_load_balancer(frontend, found->second, *service, table.local_addresses(), host_);
    for (const Advice& advice : planned.advice) warn(service->key, advice);
    programmer_.want(frontend, std::move(planned.load_balancer));
    if (auto check = plan_health_check(frontend, found->second, *service, host_)) {
        health_checks_[frontend] = check->frontend;
        programmer_.want(check->frontend, std::move(check));
    } else {
        unwant_health_check(frontend);
    }
}

void KernelspaceProxy::unwant_health_check(const FrontendKey& frontend) {
    const auto check = health_checks_.find(frontend);
    if (check == health_checks_.end()) return;
    const FrontendKey key = check->second;
    health_checks_.erase(check);
    const bool shared = std::ranges::any_of(health_checks_, [&](const auto& entry) { return entry.second == key; });
    if (!shared) programmer_.want(key, std::nullopt);
}

void KernelspaceProxy::advise(const ServiceInfo& service) {
    for (const Advice& advice : service_advice(service, host_)) warn(service.key, advice);
}

void KernelspaceProxy::warn(const std::string& service, const Advice& advice) {
    if (!told_[service].insert(advice).second) return;
    const auto object = feed_.service(service);
    if (object) context_.events.warning(*object, advice.reason, advice.message);
    context_.log.info("service is only partly supported", {{"service", service}, {"reason", advice.reason}, {"message", advice.message}});
}

std::map<std::uint16_t, ServiceTable::Health> KernelspaceProxy::health() const {
    auto all = table_v4_.health();
    all.insert(table_v6_.health().begin(), table_v6_.health().end());
    return all;
}

Task<> KernelspaceProxy::clean_up() {
    const auto another = co_await view_.read_network(options_.network_name);
    if (!another && !is_not_found(another)) co_return another.error();
    co_return co_await programmer_.remove_all();
}

}  // namespace porthole::proxy::hns
