// Cluster DNS by real sockets under dnsperf, which runs beside it: answers a second, processor time of each. Needs root, for a network
// namespace of its own. System calls of each answer: perf stat -e raw_syscalls:sys_enter --no-inherit dns_server_bench
// dns_server_bench [SECONDS] [QUERIES IN FLIGHT]
#include <fmt/core.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dns/server.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"

extern char** environ;

namespace porthole::dns {
namespace {

constexpr int Services = 5000;
constexpr const char* Address = "127.0.0.1";

class NoUpstream final : public Upstream {
public:
    Task<std::string> exchange(IpAddress, std::string, bool) override { co_return Error(Reason::Unavailable, "no server"); }
};

struct World {
    AsioLoop loop;
    SeededRandom random{1};
    NoUpstream upstream;
    Zone zone{{}, random};
    Forwarder forwarder{loop, upstream, random};
    Resolver resolver{loop, zone, forwarder, [] { return true; }};
    DnsServer server{loop, resolver, [](const IpAddress&) { return true; }, Logger(make_null_sink(), "dns")};

    World() {
        zone.add_namespace("default");
        for (int number = 0; number < Services; ++number) {
            ServiceNames service{.namespace_ = "default", .name = fmt::format("service-{}", number)};
            service.cluster_ips = {IpAddress::v4((10u << 24 | 96u << 16) + static_cast<std::uint32_t>(number))};
            zone.set_service(std::move(service));
        }
    }
    Task<> close() {
        CO_TRY_VOID(co_await server.close());
        CO_TRY_VOID(co_await forwarder.close());
        co_return {};
    }
};

std::string write_queries() {
    std::string path = (std::filesystem::temp_directory_path() / fmt::format("porthole-dns-bench-{}", ::getpid())).string();
    std::ofstream file(path);
    for (int number = 0; number < Services; ++number) file << fmt::format("service-{}.default.svc.cluster.local A\n", number);
    return path;
}

/// dnsperf's exit code, when it has ended.
int run_load(const std::string& queries, std::uint16_t port, const std::string& seconds, const std::string& in_flight) {
    std::vector<std::string> words = {"dnsperf", "-s", Address, "-p",     std::to_string(port), "-d", queries, "-l", seconds,
                                      "-c",      "8",  "-q",    in_flight};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t pid = 0;
    int status = 0;
    if (::posix_spawnp(&pid, "dnsperf", nullptr, nullptr, pointers.data(), environ) != 0) return 1;
    return ::waitpid(pid, &status, 0) == pid ? status : 1;
}

/// Of this process alone, dnsperf left out.
void report() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
    fmt::print("server: {:.2f} s in the program, {:.2f} s in the kernel, {} waits\n", seconds(usage.ru_utime), seconds(usage.ru_stime),
               usage.ru_nvcsw);
}

int run(const std::string& seconds, const std::string& in_flight) {
    World world;
    const auto port = world.server.listen(*IpAddress::parse(Address), 0);
    if (!port) return 1;
    const std::string queries = write_queries();
    int status = 1;
    std::thread load([&] {
        status = run_load(queries, *port, seconds, in_flight);
        world.loop.stop();
    });
    world.loop.run();
    load.join();
    report();
    std::filesystem::remove(queries);
    return run_task(world.loop, world.close()) ? status : 1;
}

}  // namespace
}  // namespace porthole::dns

int main(int count, char** words) {
    // Before there are threads: they would stay outside.
    if (::unshare(CLONE_NEWNET) != 0 || std::system("ip link set lo up") != 0) {
        fmt::print(stderr, "dns_server_bench: a network namespace of its own needs root\n");
        return 1;
    }
    return porthole::dns::run(count > 1 ? words[1] : "5", count > 2 ? words[2] : "200");
}
