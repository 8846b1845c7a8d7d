#include "cni/flannel/host_routes.h"
#include "hns/client.h"
#include "hns/hresult.h"

namespace porthole::cni::flannel {

namespace {

namespace hcn = porthole::hns::hcn;
constexpr const char* Owner = "porthole-flanneld";

class HnsHostRoutes final : public HostRoutes {
public:
    explicit HnsHostRoutes(porthole::hns::Hns& hns) : client_(hns) {}

    Task<std::vector<HostRoute>> own() override {
        CO_TRY(const auto all, co_await client_.list<hcn::HostComputeRoute>());
        std::vector<HostRoute> routes;
        for (const auto& listed : all) {
            if (const auto route = read(listed)) routes.push_back(*route);
        }
        co_return routes;
    }

    Task<> add(HostRoute route) override {
        hcn::HostComputeRoute document;
        document.owner = Owner;
        document.setting.push_back({.destination_prefix = route.destination.to_string(), .next_hop = route.next_hop.to_string()});
        CO_TRY_VOID((co_await client_.create(std::move(document))));
        co_return {};
    }

    Task<> remove(HostRoute route) override {
        CO_TRY(const auto all, co_await client_.list<hcn::HostComputeRoute>());
        for (const auto& listed : all) {
            if (read(listed) != route) continue;
            const auto removed = co_await client_.remove<hcn::HostComputeRoute>(listed.id);
            if (!removed && !porthole::hns::is_object_missing(removed.error())) co_return removed.error();
        }
        co_return {};
    }

    /// The service itself makes the host forward when an endpoint is attached to it.
    Task<> enable_forwarding(std::vector<IpAddress>) override { co_return {}; }

private:
    static std::optional<HostRoute> read(const hcn::HostComputeRoute& listed) {
        if (listed.owner != Owner || listed.setting.size() != 1) return std::nullopt;
        const auto destination = IpPrefix::parse(listed.setting[0].destination_prefix);
        const auto next_hop = IpAddress::parse(listed.setting[0].next_hop);
        if (!destination || !next_hop) return std::nullopt;
        return HostRoute{*destination, *next_hop};
    }
    porthole::hns::Client client_;
};

}  // namespace

std::unique_ptr<HostRoutes> make_hns_host_routes(porthole::hns::Hns& hns) { return std::make_unique<HnsHostRoutes>(hns); }

}  // namespace porthole::cni::flannel
