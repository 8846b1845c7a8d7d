#include "cmd/windows/network_removal.h"

#include <algorithm>
#include <set>

#include "hns/client.h"
#include "hns/guid.h"
#include "hns/hresult.h"

namespace porthole::cmd {
namespace {

using namespace hns;

Result<void> unless_gone(Result<void> removed) {
    if (!removed && is_not_found(removed.error())) return {};
    return removed;
}

Task<> remove_load_balancers(Client& client, std::set<std::string> endpoints, Report report) {
    CO_TRY(const auto balancers, co_await client.list<hcn::HostComputeLoadBalancer>());
    std::size_t removed = 0;
    for (const auto& balancer : balancers) {
        const bool ours = std::ranges::any_of(balancer.host_compute_endpoints,
                                              [&](const std::string& id) { return endpoints.contains(canonical_guid(id)); });
        if (!ours) continue;
        CO_TRY_VOID(unless_gone(co_await client.remove<hcn::HostComputeLoadBalancer>(balancer.id)));
        ++removed;
    }
    if (removed > 0) report(std::to_string(removed) + " load balancers removed");
    co_return {};
}

}  // namespace

Task<> remove_pod_network(Hns& hns, std::string name, Report report) {
    Client client(hns);
    CO_TRY(const auto network, co_await client.find<hcn::HostComputeNetwork>(name));
    if (!network) co_return {};
    CO_TRY(const auto endpoints, co_await client.list_endpoints_of(network->id));
    std::set<std::string> ids;
    for (const auto& endpoint : endpoints) ids.insert(canonical_guid(endpoint.id));
    CO_TRY_VOID(co_await remove_load_balancers(client, ids, report));
    for (const auto& endpoint : endpoints) CO_TRY_VOID(unless_gone(co_await client.remove<hcn::HostComputeEndpoint>(endpoint.id)));
    CO_TRY_VOID(unless_gone(co_await client.remove<hcn::HostComputeNetwork>(network->id)));
    report("HNS network " + name + " removed, with " + std::to_string(endpoints.size()) + " endpoints");
    co_return {};
}

}  // namespace porthole::cmd
