#include "proxy/hns/programmer.h"

#include <algorithm>

#include "base/result.h"
#include "hns/guid.h"
#include "hns/hresult.h"

namespace porthole::proxy::hns {

using porthole::hns::canonical_guid;
using porthole::hns::Hresult;
using porthole::hns::hresult_of;
using porthole::hns::is_object_missing;
using porthole::hns::ObjectKind;
using porthole::hns::write_document;

namespace {

/// What a host takes that refuses more destinations: older builds.
constexpr std::size_t SmallLimit = 64;

std::set<std::string> ids_of(const std::vector<std::string>& endpoints) {
    std::set<std::string> ids;
    for (const std::string& id : endpoints) ids.insert(canonical_guid(id));
    return ids;
}

bool too_many_destinations(const Error& error) {
    return hresult_of(error) == Hresult::InvalidParameter && error.message.find("number of destinations") != std::string::npos;
}

}  // namespace

bool same_load_balancer(const hcn::HostComputeLoadBalancer& written, const hcn::HostComputeLoadBalancer& shown) {
    return ids_of(written.host_compute_endpoints) == ids_of(shown.host_compute_endpoints) && written.source_vip == shown.source_vip &&
           written.frontend_vips == shown.frontend_vips && written.port_mappings == shown.port_mappings && written.flags == shown.flags;
}

Programmer::Programmer(porthole::hns::Client& client, HostView& view, Logger log, Tell tell)
    : client_(client), view_(view), log_(std::move(log)), tell_(std::move(tell)), endpoints_(client, view, counts_) {}

void Programmer::set_host(HostFacts host, bool can_modify) {
    can_modify_ = can_modify;
    if (host == host_) return;
    host_ = std::move(host);
    for (const auto& [frontend, balancer] : wanted_) dirty_.insert(frontend);
}

void Programmer::want(const FrontendKey& frontend, std::optional<LoadBalancer> balancer) {
    const auto known = wanted_.find(frontend);
    if (!balancer) {
        if (known == wanted_.end()) return;
        wanted_.erase(known);
    } else {
        if (known != wanted_.end() && known->second == *balancer) return;
        wanted_.insert_or_assign(frontend, *std::move(balancer));
    }
    dirty_.insert(frontend);
}

void Programmer::start_over() {
    made_.clear();
    uses_.clear();
    accepted_.clear();
    for (const auto& [frontend, balancer] : wanted_) dirty_.insert(frontend);
}

Task<> Programmer::sync() {
    if (host_.overlay && host_.source_vip) CO_TRY_VOID(co_await endpoints_.ensure_source(host_));
    first_failure_.reset();
    const std::vector<FrontendKey> changed(dirty_.begin(), dirty_.end());
    for (std::span<const FrontendKey> rest = changed; !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), MadeAtOnce));
        CO_TRY_VOID(co_await program_some(some));
        rest = rest.subspan(some.size());
    }
    CO_TRY_VOID(co_await remove_unused());
    if (first_failure_) co_return *std::move(first_failure_);
    co_return {};
}

/// Yields only an error after which nothing else can be done.
Task<> Programmer::program_some(std::span<const FrontendKey> frontends) {
    CO_TRY(const Refused refused, co_await endpoints_.ensure_remote(remote_addresses(frontends), host_.overlay));
    std::vector<Creation> creations;
    for (const FrontendKey& frontend : frontends) {
        auto left = co_await program(frontend, refused);
        if (left && *left) {
            creations.push_back(**std::move(left));
        } else {
            CO_TRY_VOID(settle(frontend, left ? Result<void>() : Result<void>(left.error())));
        }
    }
    if (creations.empty()) co_return {};
    co_return co_await make(std::move(creations));
}

Task<> Programmer::make(std::vector<Creation> creations) {
    std::vector<std::string> documents;
    for (const Creation& creation : creations) documents.push_back(write_document(creation.document));
    CO_TRY(auto made, co_await client_.raw().create_all(ObjectKind::LoadBalancer, "", std::move(documents)));
    for (std::size_t at = 0; at < creations.size(); ++at) {
        const FrontendKey frontend = creations[at].frontend;
        const auto done = co_await take(std::move(creations[at]), std::move(made[at]));
        CO_TRY_VOID(settle(frontend, done));
    }
    co_return {};
}

/// What has become of a frontend. Yields an error after which nothing else can be done; others wait for the next sync().
Result<void> Programmer::settle(const FrontendKey& frontend, const Result<void>& done) {
    if (done) {
        dirty_.erase(frontend);
        told_.erase(frontend);
        return {};
    }
    if (ends_work(done.error())) return done.error();
    ++counts_.failures;
    if (!first_failure_) first_failure_ = done.error();
    return {};
}

/// Yields the load balancer where one is to be made; otherwise all is done.
Task<std::optional<Programmer::Creation>> Programmer::program(FrontendKey frontend, const Refused& refused) {
    waiting_.erase(frontend);
    const auto found = wanted_.find(frontend);
    const LoadBalancer* balancer = found == wanted_.end() ? nullptr : &found->second;
    std::vector<std::string> endpoints;
    if (balancer) {
        CO_TRY(endpoints, backends(*balancer, refused));
        if (endpoints.size() < balancer->backends.size()) waiting_.insert(frontend);
    }
    if (endpoints.empty()) {
        CO_TRY_VOID(co_await remove_load_balancer(load_balancer_id(frontend)));
        release(frontend);
        co_return std::optional<Creation>();
    }
    Made made{document(*balancer, endpoints), std::move(endpoints)};
    if (balancer->address_endpoint) {
        CO_TRY(std::string address, endpoint_of(frontend.address, refused));
        made.endpoints.push_back(std::move(address));
    }
    // Held even if it cannot be made now, so that its remote endpoints stay.
    hcn::HostComputeLoadBalancer document = made.document;
    hold(frontend, std::move(made));
    co_return co_await put(frontend, std::move(document));
}

/// Those that need an endpoint: pods of this node have one, or get one from their CNI plugin.
std::map<IpAddress, RemoteAddress> Programmer::remote_addresses(std::span<const FrontendKey> frontends) const {
    std::map<IpAddress, RemoteAddress> addresses;
    for (const FrontendKey& frontend : frontends) {
        const auto found = wanted_.find(frontend);
        if (found == wanted_.end()) continue;
        const LoadBalancer& balancer = found->second;
        for (const IpAddress& address : balancer.backends) {
            if (balancer.local.contains(address) || view_.endpoint_at(address, true)) continue;
            addresses.try_emplace(address, host_.provider_of(address).value_or(host_.node_ip), conjured_mac(address));
        }
        if (balancer.address_endpoint) addresses.try_emplace(frontend.address, host_.node_ip, host_.mac);
    }
    return addresses;
}

/// Ids of the endpoints for all backends; those on this node that have none yet are left out.
Result<std::vector<std::string>> Programmer::backends(const LoadBalancer& balancer, const Refused& refused) const {
    std::vector<std::string> ids;
    for (const IpAddress& address : balancer.backends) {
        if (balancer.local.contains(address) && !view_.endpoint_at(address, true)) continue;
        TRY(std::string id, endpoint_of(address, refused));
        ids.push_back(std::move(id));
    }
    return ids;
}

Result<std::string> Programmer::endpoint_of(const IpAddress& address, const Refused& refused) const {
    const auto found = refused.find(address);
    if (found != refused.end()) return found->second;
    if (const auto* endpoint = view_.endpoint_at(address, false)) return canonical_guid(endpoint->id);
    return Error(Reason::Unavailable, "the endpoint of " + address.to_string() + " has been removed meanwhile");
}

hcn::HostComputeLoadBalancer Programmer::document(const LoadBalancer& balancer, const std::vector<std::string>& endpoints) const {
    hcn::HostComputeLoadBalancer document;
    document.id = load_balancer_id(balancer.frontend);
    document.owner = Owner;
    document.host_compute_endpoints = endpoints;
    document.schema_version = porthole::hns::schema_version();
    document.flags = balancer.flags;
    if (balancer.source_vip) document.source_vip = balancer.source_vip->to_string();
    if (!balancer.any_host_address()) document.frontend_vips = {balancer.frontend.address.to_string()};
    using Numbers = porthole::hns::Protocol;
    document.port_mappings.push_back({.protocol = balancer.frontend.protocol == Protocol::Udp ? Numbers::Udp : Numbers::Tcp,
                                      .internal_port = balancer.internal_port,
                                      .external_port = balancer.frontend.port,
                                      .distribution_type = balancer.distribution,
                                      .flags = balancer.mapping_flags});
    return document;
}

Task<std::optional<Programmer::Creation>> Programmer::put(FrontendKey frontend, hcn::HostComputeLoadBalancer document) {
    const auto* shown = view_.find_load_balancer(document.id);
    if (!shown) co_return Creation{frontend, std::move(document)};
    if (same_load_balancer(document, *shown)) co_return std::optional<Creation>();
    const auto accepted = accepted_.find(document.id);
    if (accepted != accepted_.end() && accepted->second == write_document(document) + write_document(*shown)) {
        co_return std::optional<Creation>();
    }
    CO_TRY_VOID(co_await replace(frontend, document));
    // A service that shows it otherwise than it was written would be corrected for ever.
    CO_TRY(auto now, co_await client_.get<hcn::HostComputeLoadBalancer>(document.id));
    if (!same_load_balancer(document, now)) {
        log_.warn("the host network service changes a load balancer as it is written", {{"id", document.id}});
        accepted_[document.id] = write_document(document) + write_document(now);
    }
    view_.note(std::move(now));
    co_return std::optional<Creation>();
}

/// `made`: what the service said to its creation.
Task<> Programmer::take(Creation creation, Result<std::string> made) {
    hcn::HostComputeLoadBalancer& document = creation.document;
    if (!made && is_taken(made.error())) co_return co_await resolve_conflict(creation.frontend, std::move(document), made.error());
    if (!made) {
        if (too_many_destinations(made.error()) && document.host_compute_endpoints.size() > SmallLimit) learned_limit_ = SmallLimit;
        co_return std::move(made).error().with_context("creating load balancer " + write_document(document));
    }
    ++counts_.created;
    if (!made->empty()) document.id = canonical_guid(*made);
    view_.note(std::move(document));
    co_return {};
}

Task<> Programmer::replace(FrontendKey frontend, hcn::HostComputeLoadBalancer document) {
    if (can_modify_) {
        const auto modified = co_await client_.modify_load_balancer(document.id, document);
        if (modified) {
            ++counts_.modified;
            view_.note(std::move(document));
            co_return {};
        }
        const Hresult code = hresult_of(modified.error());
        if (code != Hresult::NotImplemented && !is_object_missing(modified.error())) co_return modified.error();
        can_modify_ = can_modify_ && code != Hresult::NotImplemented;
    }
    CO_TRY_VOID(co_await remove_load_balancer(document.id));
    auto made = co_await client_.raw().create(ObjectKind::LoadBalancer, "", write_document(document));
    co_return co_await take({frontend, std::move(document)}, std::move(made));
}

/// The frontend's port is held by something: by our own load balancer that came back after a restart of the service, by another
/// program's, or by a listener on the host.
Task<> Programmer::resolve_conflict(FrontendKey frontend, hcn::HostComputeLoadBalancer document, Error error) {
    CO_TRY_VOID(co_await view_.read_load_balancers(0));
    if (const auto* own = view_.find_load_balancer(document.id)) {
        if (same_load_balancer(document, *own)) co_return {};
        CO_TRY_VOID(co_await remove_load_balancer(document.id));
        CO_TRY(const std::string id, co_await client_.raw().create(ObjectKind::LoadBalancer, "", write_document(document)));
        ++counts_.created;
        view_.note(std::move(document));
        co_return {};
    }
    const auto* holder = view_.foreign_holder(frontend);
    const std::string who = holder ? "load balancer " + holder->id + (holder->owner.empty() ? "" : " of " + holder->owner)
                                   : std::string(
                                         "another program, or the host's dynamic port range is used up: without --enable-dsr each "
                                         "service uses 64 ports of it");
    tell_once(frontend,
              {"PortTaken", "port " + std::to_string(frontend.port) + " of " + frontend.address.to_string() + " is taken on this node by " +
                                who + (holder ? ", which the proxy did not make and leaves alone" : "")});
    co_return std::move(error).with_context("creating load balancer " + write_document(document));
}

Task<> Programmer::remove_load_balancer(std::string id) {
    if (!view_.find_load_balancer(id)) co_return {};
    auto removed = co_await client_.remove<hcn::HostComputeLoadBalancer>(id);
    if (!removed && !is_object_missing(removed.error()) && !ends_work(removed.error())) {
        removed = co_await client_.remove<hcn::HostComputeLoadBalancer>(id);  // old builds fail once
    }
    if (!removed && !is_object_missing(removed.error())) co_return removed.error();
    view_.forget_load_balancer(id);
    accepted_.erase(id);
    ++counts_.removed;
    co_return {};
}

/// Remote endpoints that no load balancer needs any more, nor has because it could not be changed yet. Those of pods on this node are
/// the CNI plugin's.
Task<> Programmer::remove_unused() {
    std::vector<std::string> unused;
    for (const auto& [id, endpoint] : view_.endpoints()) {
        if (porthole::hns::is_remote(endpoint) && is_own(endpoint) && !uses_.contains(id)) unused.push_back(id);
    }
    if (unused.empty()) co_return {};
    std::set<std::string> named;
    for (const auto& [id, balancer] : view_.load_balancers()) named.merge(ids_of(balancer.host_compute_endpoints));
    std::erase_if(unused, [&](const std::string& id) { return named.contains(id); });
    for (const std::string& id : unused) CO_TRY_VOID(co_await endpoints_.remove(id));
    co_return {};
}

Task<> Programmer::check(std::size_t documents) {
    CO_TRY_VOID(co_await view_.read_endpoints(documents));
    CO_TRY_VOID((co_await view_.read_load_balancers(documents)));
    for (const auto& [frontend, made] : made_) {
        if (intact(frontend, made) || !dirty_.insert(frontend).second) continue;
        ++counts_.repaired;
        const LogField where[] = {{"address", frontend.address.to_string()}, {"port", frontend.port}};
        // Pods often go a moment before the API says so, and their endpoints with them.
        if (backends_gone(made)) {
            log_.debug("a load balancer has lost a backend", {where[0], where[1]});
        } else {
            log_.warn("a load balancer differs from what was written", {where[0], where[1]});
        }
    }
    dirty_.insert(waiting_.begin(), waiting_.end());
    std::vector<std::string> stale;
    for (const auto& [id, balancer] : view_.load_balancers()) {
        const auto frontend = frontend_of(balancer);
        if (is_own(balancer) && !(frontend && wanted_.contains(*frontend))) stale.push_back(id);
    }
    for (const std::string& id : stale) CO_TRY_VOID(co_await remove_load_balancer(id));
    co_return {};
}

bool Programmer::backends_gone(const Made& made) const {
    return !std::ranges::all_of(made.endpoints, [&](const std::string& id) { return view_.find_endpoint(id) != nullptr; });
}

bool Programmer::intact(const FrontendKey& frontend, const Made& made) const {
    const auto* shown = view_.find_load_balancer(made.document.id);
    if (!shown) return false;
    if (backends_gone(made)) return false;
    if (same_load_balancer(made.document, *shown)) return true;
    const auto accepted = accepted_.find(made.document.id);
    return accepted != accepted_.end() && accepted->second == write_document(made.document) + write_document(*shown);
}

Task<> Programmer::remove_all() {
    CO_TRY_VOID((co_await view_.read_load_balancers(0)));
    std::vector<std::string> own;
    for (const auto& [id, balancer] : view_.load_balancers()) {
        if (is_own(balancer)) own.push_back(id);
    }
    for (const std::string& id : own) CO_TRY_VOID(co_await remove_load_balancer(id));
    CO_TRY_VOID(co_await view_.read_endpoints(0));
    own.clear();
    for (const auto& [id, endpoint] : view_.endpoints()) {
        if (is_own(endpoint)) own.push_back(id);
    }
    for (const std::string& id : own) CO_TRY_VOID(co_await endpoints_.remove(id));
    start_over();
    co_return {};
}

void Programmer::hold(const FrontendKey& frontend, Made made) {
    for (const std::string& id : made.endpoints) ++uses_[id];
    release(frontend);
    made_.emplace(frontend, std::move(made));
}

void Programmer::release(const FrontendKey& frontend) {
    const auto found = made_.find(frontend);
    if (found == made_.end()) return;
    for (const std::string& id : found->second.endpoints) {
        if (const auto use = uses_.find(id); --use->second == 0) uses_.erase(use);
    }
    made_.erase(found);
}

void Programmer::tell_once(const FrontendKey& frontend, Advice advice) {
    Advice& told = told_[frontend];
    if (told == advice) return;
    told = std::move(advice);
    tell_(frontend, told);
}

}  // namespace porthole::proxy::hns
