#include "teardown/teardown.h"

#include <algorithm>
#include <set>

#include "hns/client.h"
#include "hns/guid.h"
#include "hns/hresult.h"
#include "kubelet/cri/cri_grpc.h"
#include "runtime/asio_loop.h"

namespace porthole::teardown {
namespace {

using namespace std::chrono_literals;
namespace cri = kubelet::cri;
using Report = std::function<void(const std::string& text)>;

Task<> remove_all(kubelet::RuntimeService& runtime) {
    CO_TRY(const auto listed, co_await runtime.list_pod_sandbox({}));
    for (const cri::PodSandbox& sandbox : listed.items) {
        // What cannot be stopped in good order is killed afterwards; the others must not wait for it.
        (void)co_await with_timeout(runtime.stop_pod_sandbox({.pod_sandbox_id = sandbox.id}), 10s, "stopping a sandbox");
        (void)co_await with_timeout(runtime.remove_pod_sandbox({.pod_sandbox_id = sandbox.id}), 5s, "removing a sandbox");
    }
    co_return {};
}

Result<void> unless_gone(Result<void> removed) {
    if (!removed && hns::is_object_missing(removed.error())) return {};
    return removed;
}

Task<> remove_load_balancers(hns::Client& client, std::set<std::string> endpoints, Report report) {
    CO_TRY(const auto balancers, co_await client.list<hns::hcn::HostComputeLoadBalancer>());
    std::size_t removed = 0;
    for (const auto& balancer : balancers) {
        const bool ours = std::ranges::any_of(balancer.host_compute_endpoints,
                                              [&](const std::string& id) { return endpoints.contains(hns::canonical_guid(id)); });
        if (!ours) continue;
        CO_TRY_VOID(unless_gone(co_await client.remove<hns::hcn::HostComputeLoadBalancer>(balancer.id)));
        ++removed;
    }
    if (removed > 0) report(std::to_string(removed) + " load balancers removed");
    co_return {};
}

}  // namespace

Task<> remove_pods(AsioLoop& loop, std::string endpoint) {
    const auto connection = kubelet::connect_runtime(loop, endpoint);
    auto removed = co_await remove_all(connection->runtime());
    CO_TRY_VOID(co_await connection->close());
    co_return removed;
}

Task<> remove_pod_network(hns::Hns& service, std::string name, Report report) {
    hns::Client client(service);
    CO_TRY(const auto network, co_await client.find<hns::hcn::HostComputeNetwork>(name));
    if (!network) co_return {};
    CO_TRY(const auto endpoints, co_await client.list_endpoints_of(network->id));
    std::set<std::string> ids;
    for (const auto& endpoint : endpoints) ids.insert(hns::canonical_guid(endpoint.id));
    CO_TRY_VOID(co_await remove_load_balancers(client, ids, report));
    for (const auto& endpoint : endpoints) CO_TRY_VOID(unless_gone(co_await client.remove<hns::hcn::HostComputeEndpoint>(endpoint.id)));
    CO_TRY_VOID(unless_gone(co_await client.remove<hns::hcn::HostComputeNetwork>(network->id)));
    report("HNS network " + name + " removed, with " + std::to_string(endpoints.size()) + " endpoints");
    co_return {};
}

}  // namespace porthole::teardown
