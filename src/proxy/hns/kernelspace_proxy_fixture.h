#pragma once  // for tests
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/failing_hns.h"
#include "hns/guid.h"
#include "proxy/hns/kernelspace_proxy.h"
#include "runtime/sim/kept_log.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::proxy::hns {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;
namespace emulator = porthole::hns::emulator;
using namespace std::chrono_literals;

/// Counts the calls that reach the host network service; several creations may be one turn.
class CountingHns final : public porthole::hns::Hns {
public:
    explicit CountingHns(porthole::hns::Hns& inner) : inner_(inner) {}
    using Kind = porthole::hns::ObjectKind;
    Task<std::string> enumerate(Kind kind, std::string query) override { return ++reads, inner_.enumerate(kind, std::move(query)); }
    Task<std::string> create(Kind kind, std::string parent, std::string settings) override {
        return ++writes, inner_.create(kind, std::move(parent), std::move(settings));
    }
    Task<std::vector<Result<std::string>>> create_all(Kind kind, std::string parent, std::vector<std::string> settings) override {
        writes += static_cast<int>(settings.size());
        largest_turn = std::max(largest_turn, settings.size());
        return ++turns, inner_.create_all(kind, std::move(parent), std::move(settings));
    }
    Task<std::string> query(Kind kind, std::string id, std::string query) override {
        return ++reads, inner_.query(kind, std::move(id), std::move(query));
    }
    Task<> modify(Kind kind, std::string id, std::string settings) override {
        return ++writes, inner_.modify(kind, std::move(id), std::move(settings));
    }
    Task<> remove(Kind kind, std::string id) override { return ++writes, inner_.remove(kind, std::move(id)); }
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override {
        return inner_.call_v1(std::move(method), std::move(path), std::move(body));
    }
    Task<> subscribe(std::function<void(const porthole::hns::Notification&)> listener) override {
        return inner_.subscribe(std::move(listener));
    }
    int reads = 0, writes = 0, turns = 0;
    std::size_t largest_turn = 0;

private:
    porthole::hns::Hns& inner_;
};

class RecordingHealth final : public HealthListener {
public:
    void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) override { told = health; }
    std::map<std::uint16_t, ServiceTable::Health> told;
};

inline core::Node node(const std::string& name, const std::string& address) {
    core::Node object;
    object.metadata.name = name;
    object.status.addresses = {{.type = "InternalIP", .address = address}};
    return object;
}

inline core::Service service(const std::string& name = "web", const std::string& address = "10.96.0.20") {
    core::Service object;
    object.metadata.namespace_ = "default";
    object.metadata.name = name;
    object.spec.type = "ClusterIP";
    object.spec.cluster_ip = address;
    object.spec.cluster_ips = {address};
    object.spec.ports.push_back({.protocol = "TCP", .port = 80});
    return object;
}

/// Addresses in 10.244.3.0/24 are on this node.
inline discovery::EndpointSlice slice(const std::vector<std::string>& addresses, const std::string& name = "web") {
    discovery::EndpointSlice object;
    object.metadata.namespace_ = "default";
    object.metadata.name = name + "-1";
    object.metadata.labels = {{"kubernetes.io/service-name", name}};
    object.address_type = "IPv4";
    object.ports.push_back({.name = "", .protocol = "TCP", .port = 8080});
    for (const auto& address : addresses) {
        discovery::Endpoint endpoint;
        endpoint.addresses = {address};
        endpoint.node_name = address.starts_with("10.244.3.") ? "win1" : "lin1";
        object.endpoints.push_back(endpoint);
    }
    return object;
}

struct World {
    std::string told;  ///< the log
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{std::make_shared<sim::KeptLog>(told), "proxy"};
    client::EventRecorder events{loop, client, log, "kube-proxy", "win1"};
    sim::MemoryFileSystem files{loop};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator emulated;
    emulator::FailingHns failing{emulated};
    CountingHns counted{failing};
    porthole::hns::Client hns{emulated};
    RecordingHealth health;
    std::unique_ptr<client::Informers> informers;  ///< of one proxy: they call it until they are closed
    std::unique_ptr<KernelspaceProxy> proxy;
    std::unique_ptr<Scope> scope;
    std::optional<Error> ended;
    std::function<Result<IpAddress>(const std::string&, const IpPrefix&)> reserve;
    std::set<std::string> addresses{"192.0.2.13"};  ///< of the machine's adapters

    explicit World(const char* release = "2022") : World(*emulator::find_profile(release)) {}
    explicit World(const emulator::Profile& profile) : emulated({loop, files, random, data_plane, log}, {"/hns", profile}) {
        EXPECT_TRUE(sim::run(loop, emulated.start()));
        api.put(node("win1", "192.0.2.13"));
    }
    ~World() {
        stop();
        EXPECT_TRUE(sim::run(loop, emulated.close()));
    }
    void start(KernelspaceOptions options = {}) {
        options.node_name = "win1";
        if (options.network_name.empty()) options.network_name = "cbr0";
        informers = std::make_unique<client::Informers>(client::InformerContext{loop, client, random, log});
        informers->start();
        const auto mac_of = [this](const IpAddress& address) { return addresses.contains(address.to_string()) ? "00-15-5D-00-00-13" : ""; };
        proxy = std::make_unique<KernelspaceProxy>(KernelspaceContext{loop, *informers, counted, events, &health, mac_of, log, reserve},
                                                   options);
        scope = std::make_unique<Scope>(loop, [this](const Error& error) { ended = error; });
        scope->spawn(proxy->run());
        scope->spawn(proxy->listen());
        scope->spawn(events.run());
        loop.advance(2s);
    }
    void stop() {
        if (scope) EXPECT_TRUE(sim::run(loop, scope->close()));
        if (informers) EXPECT_TRUE(sim::run(loop, informers->close()));
        scope.reset();
        proxy.reset();
        informers.reset();
    }
    std::string make_network(const char* name = "cbr0", const char* type = "L2Bridge") {
        hcn::HostComputeNetwork network;
        network.name = name;
        network.type = type;
        hcn::Subnet subnet;
        subnet.ip_address_prefix = "10.244.3.0/24";
        subnet.routes = {{.next_hop = "10.244.3.1", .destination_prefix = "0.0.0.0/0"}};
        if (std::string(type) == "Overlay") {
            subnet.policies = {porthole::hns::make_policy("VSID", hcn::IsolationSettings{.isolation_id = 4096})};
            network.policies = {porthole::hns::make_policy(
                "RemoteSubnetRoute", hcn::RemoteSubnetRouteSettings{.destination_prefix = "10.244.4.0/24",
                                                                    .isolation_id = 4096,
                                                                    .provider_address = "192.0.2.14",
                                                                    .distributed_router_mac_address = "00-15-5D-00-00-0E"})};
        }
        network.ipams = {{.type = "Static", .subnets = {subnet}}};
        const auto created = sim::run(loop, hns.create(network));
        EXPECT_TRUE(created) << created.error().message;
        loop.advance(3s);
        return created->id;
    }
    std::string make_pod(const std::string& address, const char* network = "cbr0") {
        hcn::HostComputeEndpoint endpoint;
        endpoint.name = "pod" + address + "_" + network;
        endpoint.host_compute_network = sim::run(loop, hns.find<hcn::HostComputeNetwork>(network)).value()->id;
        endpoint.ip_configurations = {{.ip_address = address}};
        return sim::run(loop, hns.create(endpoint)).value().id;
    }
    std::vector<hcn::HostComputeEndpoint> endpoints() { return sim::run(loop, hns.list<hcn::HostComputeEndpoint>()).value(); }
    std::vector<hcn::HostComputeLoadBalancer> balancers() { return sim::run(loop, hns.list<hcn::HostComputeLoadBalancer>()).value(); }
    /// "vip:port->port [address,address]", sorted.
    std::vector<std::string> rules() {
        std::map<std::string, std::string> addresses;
        for (const auto& endpoint : endpoints())
            addresses[porthole::hns::canonical_guid(endpoint.id)] = endpoint.ip_configurations.at(0).ip_address;
        std::vector<std::string> lines;
        for (const auto& balancer : balancers()) {
            const auto& mapping = balancer.port_mappings.at(0);
            std::set<std::string> backends;
            for (const auto& id : balancer.host_compute_endpoints) backends.insert(addresses[porthole::hns::canonical_guid(id)]);
            std::string line = (balancer.frontend_vips.empty() ? "*" : balancer.frontend_vips[0]) + ":" +
                               std::to_string(mapping.external_port) + "->" + std::to_string(mapping.internal_port);
            for (const auto& backend : backends) line += " " + backend;
            lines.push_back(line);
        }
        std::ranges::sort(lines);
        return lines;
    }
    std::vector<std::string> event_reasons() {
        std::vector<std::string> reasons;
        for (const auto& event : api.list<core::Event>()) reasons.push_back(event.reason);
        return reasons;
    }
    void control(const std::string& request) { ASSERT_TRUE(sim::run(loop, emulated.control(request))); }
};

}  // namespace porthole::proxy::hns
