#pragma once
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hns/emulator/data_plane/linux/linux_data_plane.h"
#include "runtime/asio_loop.h"

namespace porthole::hns::emulator {

/// Runs `function` in the network namespace at `path`, on a separate thread.
void run_in(const std::string& path, const std::function<void()>& function);
/// The output of a shell there; fails the test if the last command does.
std::string shell(const std::string& path, const std::string& commands);

/// Answers connections and datagrams with "name client".
class Servers {
public:
    Servers();
    ~Servers();
    void add(const std::string& path, const std::string& name, std::uint16_t port, const std::string& address = "0.0.0.0");

private:
    struct Server {
        int socket;
        bool is_stream;
        std::string name;
    };
    void serve();
    std::mutex mutex_;
    std::vector<Server> servers_;
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

enum class Transport { Tcp, Udp };
/// The server's answer to a client in the namespace at `path`, or the failure: "timeout", "Connection refused", "No route to host".
std::string ask(const std::string& path, const std::string& address, std::uint16_t port, Transport transport = Transport::Tcp);
/// The same with little patience, where silence is expected.
std::string ask_in_vain(const std::string& path, const std::string& address, std::uint16_t port, Transport transport = Transport::Tcp);
bool ping(const std::string& path, const std::string& address);

/// An emulated host: a namespace with an uplink, a data plane, and the model that was applied to it.
class LabHost {
public:
    LabHost(const std::filesystem::path& folder, const std::string& name);
    ~LabHost();

    void put(hcn::HostComputeNetwork document, const std::string& adapter = "Ethernet");
    /// In `compartment` ("" for none), which is created if necessary; "host" is the host itself.
    void put(hcn::HostComputeEndpoint document, const std::string& compartment = "");
    void put(hcn::HostComputeLoadBalancer document);
    void remove_endpoint(const std::string& id);
    void remove_load_balancer(const std::string& id);
    void remove_everything();

    /// Applies the changes since the last call; discards them if that fails.
    Result<void> try_apply();
    void apply();
    void restore();
    /// Replaces the data plane by a new one, as after a crash of the process.
    void start_anew();
    Counters counters(const std::string& endpoint);
    std::vector<Adapter> adapters();
    void lose_rules();

    const std::string& path() const { return path_; }
    std::string pod(const std::string& compartment) const { return data_plane_->namespace_path(compartment); }
    std::string address;

private:
    template <class T>
    Result<T> finish(std::function<Task<T>()> work);

    std::string path_;
    AsioLoop loop_;
    std::unique_ptr<WorkerPool> pool_;
    std::unique_ptr<ProcessRunner> processes_;
    LinuxOptions options_;
    std::unique_ptr<DataPlane> data_plane_;
    Model model_, next_;
    Changes changes_;
    std::uint32_t numbers_ = 0;
};

/// Two emulated hosts and a router, which is also the client and the external site, on one wire without an uplink.
///
///     host a 192.168.50.11 ---+--- router 192.168.50.1, and far away behind it 198.51.100.7
///     host b 192.168.50.12 ---+
class PacketLab {
public:
    PacketLab();
    ~PacketLab();
    bool usable() const { return usable_; }
    /// One more namespace on the wire.
    std::string add_machine(const std::string& name, const std::string& address, const std::string& link);

    std::filesystem::path folder;
    std::string router;
    Servers servers;
    std::unique_ptr<LabHost> a, b;

private:
    bool usable_ = false;
    std::vector<std::string> machines_;
};

// Documents in short.
hcn::HostComputeNetwork network(const std::string& id, const std::string& type, const std::string& subnet, const std::string& gateway,
                                std::vector<hcn::Policy> policies = {});
hcn::HostComputeEndpoint endpoint(const std::string& id, const std::string& network, const std::string& address, const std::string& gateway,
                                  std::vector<hcn::Policy> policies = {});
hcn::HostComputeEndpoint remote_endpoint(const std::string& id, const std::string& network, const std::string& address);
hcn::HostComputeLoadBalancer load_balancer(const std::string& id, std::vector<std::string> endpoints, const std::string& vip,
                                           std::uint16_t port, std::uint32_t flags = LoadBalancerFlags::EnableDirectServerReturn,
                                           std::uint32_t mapping_flags = 0, std::uint32_t distribution = 0);
hcn::Policy outbound_nat(std::vector<std::string> exceptions);
hcn::Policy loopback_nat(const std::string& own_address);
hcn::Policy encap_route(const std::string& prefix);
hcn::Policy host_port(std::uint16_t outside, std::uint16_t inside);
hcn::Policy acl(const std::string& action, const std::string& direction, std::uint32_t priority, const std::string& remote_addresses,
                const std::string& local_ports = "");

}  // namespace porthole::hns::emulator
