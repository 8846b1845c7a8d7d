#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "hns/client.h"
#include "hns/client_v1.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/guid.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::hns::emulator {

/// An emulated host under virtual time, whose data plane only records calls.
class EmulatorFixture : public testing::Test {
protected:
    ~EmulatorFixture() override { stop(); }

    void start(const char* release = "2022") {
        emulator_.emplace(EmulatorContext{loop, files, random, data_plane, Logger(make_null_sink(), "hns")},
                          EmulatorOptions{.data_dir = "/var/lib/hns", .profile = *find_profile(release)});
        client_.emplace(*emulator_);
        client_v1_.emplace(*emulator_);
        ASSERT_TRUE(sim::run(loop, emulator_->start()));
    }
    void stop() {
        if (!emulator_) return;
        EXPECT_TRUE(sim::run(loop, emulator_->close()));
        client_v1_.reset();
        client_.reset();
        emulator_.reset();
    }
    /// The service's process ends and another starts over the same files.
    void restart(const char* release = "2022") {
        stop();
        start(release);
    }

    Emulator& emulator() { return *emulator_; }
    Client& client() { return *client_; }
    ClientV1& client_v1() { return *client_v1_; }

    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    /// Requires success.
    template <class T>
    T get(Task<T> task) {
        auto result = run(std::move(task));
        if (!result) {
            ADD_FAILURE() << result.error().message;
            return T();
        }
        return *std::move(result);
    }
    void done(Task<> task) {
        auto result = run(std::move(task));
        EXPECT_TRUE(result) << result.error().message;
    }
    /// The code that a failing task carries; Ok when it succeeds.
    template <class T>
    Hresult code_of(Task<T> task) {
        auto result = run(std::move(task));
        return result ? Hresult::Ok : hresult_of(result.error());
    }
    void control(const std::string& request) {
        auto answer = run(emulator().control(request));
        ASSERT_TRUE(answer) << answer.error().message;
    }

    static hcn::HostComputeNetwork network(const std::string& name, const std::string& type, const std::string& prefix,
                                           const std::string& gateway) {
        hcn::HostComputeNetwork network;
        network.name = name;
        network.type = type;
        hcn::Subnet subnet;
        subnet.ip_address_prefix = prefix;
        hcn::Route route;
        route.next_hop = gateway;
        route.destination_prefix = gateway.find(':') == std::string::npos ? "0.0.0.0/0" : "::/0";
        subnet.routes.push_back(route);
        if (type == hcn::NetworkMode::Overlay) {
            hcn::IsolationSettings isolation;
            isolation.isolation_id = 4096;
            subnet.policies.push_back(make_policy(hcn::SubnetPolicyType::Vsid, isolation));
        }
        network.ipams.emplace_back();
        network.ipams.front().type = hcn::IpamType::Static;
        network.ipams.front().subnets.push_back(subnet);
        return network;
    }
    hcn::HostComputeNetwork make_bridge(const std::string& name = "cbr0") {
        return get(client().create(network(name, hcn::NetworkMode::L2Bridge, "10.9.3.0/24", "10.9.3.1")));
    }
    hcn::HostComputeNetwork make_overlay(std::uint32_t flags = 0) {
        auto document = network("vxlan0", hcn::NetworkMode::Overlay, "10.9.3.0/24", "10.9.3.1");
        document.flags = flags;
        return get(client().create(document));
    }
    static hcn::HostComputeEndpoint endpoint(const std::string& network_id, const std::string& address = "") {
        hcn::HostComputeEndpoint endpoint;
        endpoint.host_compute_network = network_id;
        if (!address.empty()) {
            endpoint.ip_configurations.emplace_back();
            endpoint.ip_configurations.front().ip_address = address;
        }
        return endpoint;
    }
    static hcn::HostComputeEndpoint remote_endpoint(const std::string& network_id, const std::string& address) {
        auto remote = endpoint(network_id, address);
        remote.flags = EndpointFlags::RemoteEndpoint;
        return remote;
    }
    hcn::HostComputeEndpoint make_endpoint(const std::string& network_id, const std::string& address = "") {
        return get(client().create(endpoint(network_id, address)));
    }
    hcn::HostComputeNamespace make_namespace() { return get(client().create(hcn::HostComputeNamespace())); }
    static hcn::HostComputeLoadBalancer balancer(std::vector<std::string> endpoints, std::vector<std::string> vips,
                                                 std::uint32_t port = 80) {
        hcn::HostComputeLoadBalancer balancer;
        balancer.host_compute_endpoints = std::move(endpoints);
        balancer.frontend_vips = std::move(vips);
        balancer.port_mappings.emplace_back();
        balancer.port_mappings.front().protocol = Protocol::Tcp;
        balancer.port_mappings.front().internal_port = 8080;
        balancer.port_mappings.front().external_port = port;
        return balancer;
    }

    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    SeededRandom random{7};
    RememberingDataPlane data_plane;

private:
    std::optional<Emulator> emulator_;
    std::optional<Client> client_;
    std::optional<ClientV1> client_v1_;
};

}  // namespace porthole::hns::emulator
