#include "proxy/hns/own_endpoints.h"

#include <algorithm>

#include "base/result.h"
#include "hns/guid.h"
#include "hns/hresult.h"

namespace porthole::proxy::hns {

using porthole::hns::canonical_guid;
using porthole::hns::Hresult;
using porthole::hns::is_object_missing;
using porthole::hns::ObjectKind;
using porthole::hns::write_document;

namespace {

std::string provider_of(const hcn::HostComputeEndpoint& endpoint) {
    const auto settings = porthole::hns::find_settings<hcn::ProviderAddressSettings>(endpoint.policies, "ProviderAddress");
    return settings ? settings->provider_address : "";
}

}  // namespace

bool is_taken(const Error& error) {
    const Hresult code = porthole::hns::hresult_of(error);
    return code == Hresult::PortAlreadyExists || code == Hresult::AlreadyExists || code == Hresult::ObjectAlreadyExists;
}

bool ends_work(const Error& error) { return is_cancelled(error) || porthole::hns::is_disconnected(error); }

Task<OwnEndpoints::Refused> OwnEndpoints::ensure_remote(std::map<IpAddress, RemoteAddress> wanted, bool overlay) {
    Refused refused;
    std::vector<hcn::HostComputeEndpoint> lacking;
    for (const auto& [address, remote] : wanted) {
        if (is_present(address, remote, overlay)) continue;
        if (const auto* outdated = view_.endpoint_at(address, false)) {  // its node has another address now
            const auto removed = co_await remove(canonical_guid(outdated->id));
            if (!removed && ends_work(removed.error())) co_return removed.error();
            if (!removed) refused.emplace(address, removed.error());
            if (!removed) continue;
        }
        lacking.push_back(remote_document(address, remote, overlay));
        if (lacking.size() == MadeAtOnce) CO_TRY_VOID(co_await create(std::exchange(lacking, {}), refused));
    }
    if (!lacking.empty()) CO_TRY_VOID(co_await create(std::move(lacking), refused));
    CO_TRY_VOID(co_await forgive_present(refused));
    co_return refused;
}

bool OwnEndpoints::is_present(const IpAddress& address, const RemoteAddress& wanted, bool overlay) const {
    const auto* present = view_.endpoint_at(address, false);
    return present && (!overlay || !is_own(*present) || provider_of(*present) == wanted.provider.to_string());
}

hcn::HostComputeEndpoint OwnEndpoints::remote_document(const IpAddress& address, const RemoteAddress& wanted, bool overlay) const {
    hcn::HostComputeEndpoint endpoint;
    endpoint.schema_version = porthole::hns::schema_version();
    endpoint.id = remote_endpoint_id(view_.network().id, address);
    endpoint.owner = Owner;
    endpoint.host_compute_network = view_.network().id;
    endpoint.flags = porthole::hns::EndpointFlags::RemoteEndpoint;
    endpoint.mac_address = wanted.mac.empty() ? conjured_mac(address) : wanted.mac;
    endpoint.ip_configurations.push_back({.ip_address = address.to_string()});
    if (overlay) {
        endpoint.policies.push_back(
            porthole::hns::make_policy("ProviderAddress", hcn::ProviderAddressSettings{.provider_address = wanted.provider.to_string()}));
    }
    return endpoint;
}

/// Without a look at what has become of them: of pods elsewhere nothing is completed that matters, and there may be thousands.
Task<> OwnEndpoints::create(std::vector<hcn::HostComputeEndpoint> documents, Refused& refused) {
    std::vector<std::string> texts;
    for (const auto& document : documents) texts.push_back(write_document(document));
    CO_TRY(const auto made, co_await client_.raw().create_all(ObjectKind::Endpoint, view_.network().id, texts));
    std::optional<Error> last;
    for (std::size_t at = 0; at < documents.size(); ++at) {
        hcn::HostComputeEndpoint& endpoint = documents[at];
        if (!made[at]) {
            if (ends_work(made[at].error())) last = made[at].error();
            refused.emplace(addresses_of(endpoint).front(), Error(made[at].error()).with_context("creating endpoint " + texts[at]));
            continue;
        }
        if (!made[at]->empty()) endpoint.id = canonical_guid(*made[at]);
        view_.note(std::move(endpoint));
        ++counts_.created;
    }
    if (last) co_return *std::move(last);
    co_return {};
}

/// Somebody was faster, or they are there although the service had not shown them.
Task<> OwnEndpoints::forgive_present(Refused& refused) {
    if (std::ranges::none_of(refused, [](const auto& entry) { return is_taken(entry.second); })) co_return {};
    const auto read = co_await view_.read_endpoints(0);
    if (!read && ends_work(read.error())) co_return read.error();
    std::erase_if(refused, [this](const auto& entry) { return is_taken(entry.second) && view_.endpoint_at(entry.first, false); });
    co_return {};
}

/// On an overlay, packets that the node itself sends on behalf of clients need an address of the pod network to come back to.
Task<> OwnEndpoints::ensure_source(const HostFacts& host) {
    if (view_.endpoint_at(*host.source_vip, true)) co_return {};
    hcn::HostComputeEndpoint endpoint;
    endpoint.id = source_endpoint_id(view_.network().id);
    if (view_.find_endpoint(endpoint.id)) CO_TRY_VOID(co_await remove(endpoint.id));  // of an earlier address
    endpoint.owner = Owner;
    endpoint.name = "porthole-source-vip";
    endpoint.host_compute_network = view_.network().id;
    endpoint.mac_address = host.mac.empty() ? conjured_mac(*host.source_vip) : host.mac;
    endpoint.ip_configurations.push_back({.ip_address = host.source_vip->to_string()});
    CO_TRY(auto created, co_await client_.create(std::move(endpoint)));
    view_.note(std::move(created));
    ++counts_.created;
    co_return {};
}

Task<> OwnEndpoints::remove(std::string id) {
    const auto removed = co_await client_.remove<hcn::HostComputeEndpoint>(id);
    if (!removed && !is_object_missing(removed.error())) co_return removed.error();
    view_.forget_endpoint(id);
    ++counts_.removed;
    co_return {};
}

}  // namespace porthole::proxy::hns
