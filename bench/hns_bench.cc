// The emulated host network service without Wine around it: what the remote endpoints and load balancers of many services cost, in time
// and in processor time of this process and of the programs that it runs. Needs root, for a network namespace of its own.
// hns_bench [SERVICES] [ENDPOINTS]
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "hns/client.h"
#include "hns/emulator/data_plane/linux/linux_data_plane.h"
#include "hns/emulator/emulator.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/worker_pool.h"

namespace porthole::hns {
namespace {

namespace fs = std::filesystem;

double processor_seconds(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A namespace with one adapter, whose other end leads nowhere. Before there are threads: they would stay outside.
bool enter_own_network() {
    return ::unshare(CLONE_NEWNET) == 0 &&
           std::system(
               "ip link set lo up && ip link add far type veth peer name Ethernet &&"
               " ip addr add 192.0.2.13/24 dev Ethernet && ip link set far up && ip link set Ethernet up") == 0;
}

class Bench {
public:
    Bench(int services, int endpoints) : services_(services), endpoints_(endpoints) {
        options_.profile = *emulator::find_profile("2022");
        options_.data_dir = (folder_ / "hns").string();
        options_.switch_delay = std::chrono::milliseconds(1);
        fs::create_directories(folder_ / "namespaces");
    }
    ~Bench() { fs::remove_all(folder_); }

    Result<void> run() {
        emulator::Emulator service({loop_, *files_, random_, *plane_, log_}, options_);
        TRY_VOID(wait(service.start()));
        Client client(service);
        const auto made = measure(client);
        TRY_VOID(wait(service.close()));
        return made;
    }

private:
    template <class T>
    Result<T> wait(Task<T> task) {
        return run_task(loop_, std::move(task));
    }

    Result<void> measure(Client& client) {
        hcn::HostComputeNetwork bridge;
        bridge.name = "cbr0";
        bridge.type = hcn::NetworkMode::L2Bridge;
        bridge.ipams = {
            {.subnets = {{.ip_address_prefix = "10.9.0.0/16", .routes = {{.next_hop = "10.9.0.1", .destination_prefix = "0.0.0.0/0"}}}}}};
        TRY(bridge, wait(client.create(bridge)));
        TRY_VOID(report("remote endpoint", endpoints_, add_endpoints(client, bridge.id)));
        return report("load balancer", services_, add_balancers(client));
    }

    Task<> add_endpoints(Client& client, std::string network) {
        for (int number = 0; number < endpoints_; ++number) {
            hcn::HostComputeEndpoint endpoint;
            endpoint.host_compute_network = network;
            endpoint.flags = EndpointFlags::RemoteEndpoint;
            endpoint.mac_address = "02-11-22-33-44-55";
            endpoint.ip_configurations.push_back({.ip_address = fmt::format("10.200.{}.{}", number / 250, number % 250 + 1)});
            CO_TRY(const auto made, co_await client.create(std::move(endpoint)));
            ids_.push_back(made.id);
        }
        co_return {};
    }

    Task<> add_balancers(Client& client) {
        for (int number = 0; number < services_; ++number) {
            hcn::HostComputeLoadBalancer balancer;
            balancer.flags = LoadBalancerFlags::EnableDirectServerReturn;
            balancer.frontend_vips = {fmt::format("10.96.{}.{}", number / 250, number % 250 + 1)};
            balancer.port_mappings.push_back({.protocol = Protocol::Tcp, .internal_port = 8080, .external_port = 80});
            for (std::size_t at = static_cast<std::size_t>(number); at < ids_.size(); at += static_cast<std::size_t>(services_))
                balancer.host_compute_endpoints.push_back(ids_[at]);
            CO_TRY_VOID(co_await client.create(std::move(balancer)));
        }
        co_return {};
    }

    Result<void> report(const char* what, int count, Task<> work) {
        const auto started = std::chrono::steady_clock::now();
        const double own = processor_seconds(RUSAGE_SELF), children = processor_seconds(RUSAGE_CHILDREN);
        TRY_VOID(wait(std::move(work)));
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
        fmt::print("{:<16} {:>6}  {:>7.2f} s  {:>7.2f} ms each  processor: service {:.2f} s, programs {:.2f} s\n", what, count,
                   taken.count(), taken.count() * 1e3 / count, processor_seconds(RUSAGE_SELF) - own,
                   processor_seconds(RUSAGE_CHILDREN) - children);
        std::fflush(stdout);
        return {};
    }

    int services_, endpoints_;
    fs::path folder_ = fs::temp_directory_path() / ("porthole-hns-bench-" + std::to_string(::getpid()));
    AsioLoop loop_;
    std::unique_ptr<WorkerPool> pool_ = make_thread_pool(4);
    std::unique_ptr<ProcessRunner> processes_ = make_process_runner(*pool_);
    std::unique_ptr<FileSystem> files_ = make_file_system();
    SystemRandom random_;
    Logger log_{make_stderr_sink(LogLevel::Warn), "hns"};
    std::unique_ptr<emulator::DataPlane> plane_ =
        emulator::make_linux_data_plane(*processes_, *pool_, log_, {.namespace_folder = (folder_ / "namespaces").string()});
    emulator::EmulatorOptions options_;
    std::vector<std::string> ids_;
};

}  // namespace
}  // namespace porthole::hns

int main(int count, char** words) {
    if (!porthole::hns::enter_own_network()) {
        fmt::print(stderr, "hns_bench: a network namespace of its own needs root\n");
        return 1;
    }
    const int services = count > 1 ? std::atoi(words[1]) : 2000, endpoints = count > 2 ? std::atoi(words[2]) : 5000;
    const auto done = porthole::hns::Bench(services, endpoints).run();
    if (!done) fmt::print(stderr, "hns_bench: {}\n", done.error().message);
    return done ? 0 : 1;
}
