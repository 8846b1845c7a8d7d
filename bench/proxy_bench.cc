// The service proxy of a Linux node with many services: what it computes, and what nft and the kernel do with it. Needs root, for a
// network namespace of its own, which has no way out.
// proxy_bench [SERVICES] [ENDPOINTS]
#include <fmt/core.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "netlink/nft.h"
#include "proxy/nftables/layout.h"
#include "proxy/nftables/listing.h"
#include "proxy/nftables/rules.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/worker_pool.h"

namespace porthole::proxy::nftables {
namespace {

constexpr int SampleCount = 21;  // of which the median counts
constexpr int Nodes = 1000;      // that share the endpoints
constexpr std::uint32_t FirstClusterIp = 10u << 24 | 96u << 16 | 1, FirstEndpoint = 10u << 24 | 128u << 16 | 1;

double seconds_of(const std::function<void()>& work) {
    const auto started = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/// Of this process or, with RUSAGE_CHILDREN, of the programs that it has waited for.
double processor_seconds(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Megabytes of a line of /proc/meminfo or /proc/self/status, such as "Slab:".
double megabytes(const char* file, const std::string& line) {
    std::ifstream in(file);
    std::string word;
    double kilobytes = 0;
    while (in >> word)
        if (word == line && in >> kilobytes) break;
    return kilobytes / 1024;
}

double kernel_megabytes() {
    double sum = 0;
    for (const char* line : {"Slab:", "VmallocUsed:", "Percpu:"}) sum += megabytes("/proc/meminfo", line);
    return sum;
}

ServiceInfo service(int number) {
    ServiceInfo info;
    info.key = fmt::format("default/service-{}", number);
    info.cluster_ips = {IpAddress::v4(FirstClusterIp + static_cast<std::uint32_t>(number))};
    info.ports = {{.name = "http", .port = 80}};
    return info;
}

/// `shift` moves the first endpoint to another address.
SliceInfo slice(int number, int endpoints, std::uint32_t shift = 0) {
    SliceInfo info;
    info.key = fmt::format("default/service-{}-slice", number);
    info.service = fmt::format("default/service-{}", number);
    info.ports = {{.name = "http", .port = 8080}};
    for (int at = 0; at < endpoints; ++at) {
        const int place = number * endpoints + at;
        const auto address = FirstEndpoint + static_cast<std::uint32_t>(place) + (at == 0 ? shift : 0);
        info.endpoints.push_back({.address = IpAddress::v4(address), .node_name = fmt::format("node-{}", place % Nodes)});
    }
    return info;
}

class Bench {
public:
    Bench(int services, int endpoints) : services_(services), each_(std::max(1, endpoints / services)) {}

    Result<void> run() {
        fmt::print("{} services, {} endpoints\n", services_, services_ * each_);
        fill();
        TRY_VOID(whole("whole table, first time"));
        TRY_VOID(whole("whole table, again"));
        TRY_VOID(changes());
        return look();
    }

private:
    static void report(const std::string& what, double seconds, const std::string& note = "") {
        fmt::print("{:<44} {:>9.2f} ms  {}\n", what, seconds * 1e3, note);
        std::fflush(stdout);
    }
    Result<void> nft(std::string text) { return run_task(loop_, executor_->run(std::move(text))); }

    void fill() {
        const double before = megabytes("/proc/self/status", "VmRSS:");
        report("services and slices into the table, update()", seconds_of([&] {
                   for (int number = 0; number < services_; ++number) {
                       table_.set_service(service(number));
                       table_.set_slice(slice(number, each_));
                   }
                   (void)table_.update();
               }));
        fmt::print("  memory of the table: {:.1f} MB\n", megabytes("/proc/self/status", "VmRSS:") - before);
    }

    Result<void> whole(const char* what) {
        const double before = megabytes("/proc/self/status", "VmRSS:"), kernel = kernel_megabytes();
        std::string text;
        const double written = seconds_of([&] { text = rules_.full(table_, false); });
        const std::size_t size = text.size();
        const double used = processor_seconds(RUSAGE_CHILDREN);
        Result<void> done;
        const double programmed = seconds_of([&] { done = nft(std::move(text)); });
        TRY_VOID(done);
        report(what, written + programmed,
               fmt::format("text of {:.1f} MB {:.0f} ms, nft {:.0f} ms (processor {:.0f} ms)", static_cast<double>(size) / 1e6,
                           written * 1e3, programmed * 1e3, (processor_seconds(RUSAGE_CHILDREN) - used) * 1e3));
        ::malloc_trim(0);
        fmt::print("  memory of the rule set: {:.1f} MB; of the kernel's table: {:.1f} MB\n",
                   megabytes("/proc/self/status", "VmRSS:") - before, kernel_megabytes() - kernel);
        return {};
    }

    struct Sample {
        double seconds = 0, processor = 0;
    };
    Result<Sample> timed(Task<> work) {
        const auto used = [] { return processor_seconds(RUSAGE_SELF) + processor_seconds(RUSAGE_CHILDREN); };
        const double before = used();
        Result<void> done;
        const double seconds = seconds_of([&] { done = run_task(loop_, std::move(work)); });
        TRY_VOID(done);
        return Sample{seconds, used() - before};
    }

    /// Of one endpoint of one service, which another address replaces: as the proxy does it, and by nft. The peer: nft with a table of one
    /// element.
    Result<void> changes() {
        const std::string one =
            "table ip peer {\n\tset one {\n\t\ttype ipv4_addr\n\t}\n}\nflush set ip peer one\nadd element ip peer one { 10.0.0.1 }\n";
        std::vector<double> computed;
        std::vector<Sample> direct, by_nft, peers;
        for (int change = 0; change < 2 * SampleCount; ++change) {
            Changes changes;
            computed.push_back(seconds_of([&] {
                table_.set_slice(slice(services_ / 2 + change % 3, each_, static_cast<std::uint32_t>(0x200000 + change)));
                changes = rules_.change(table_, table_.update());
            }));
            if (change % 2 == 0) {
                auto encoded = kernel_changes(changes.removed, changes.added);
                TRY(direct.emplace_back(), timed(executor_->change(std::string(TableName), std::move(encoded))));
                continue;
            }
            TRY(by_nft.emplace_back(), timed(executor_->run(changes.text())));
            TRY(peers.emplace_back(), timed(executor_->run(one)));
        }
        const double own = median(computed);
        const Sample peer = median(peers);
        const auto line = [&](const std::string& what, Sample sample, double more) {
            report(what, more + sample.seconds,
                   fmt::format("processor {:.2f} ms; ratio to the peer {:.2f}", (more + sample.processor) * 1e3,
                               (more + sample.seconds) / peer.seconds));
        };
        line("one endpoint changes", median(direct), own);
        line("  the same by nft", median(by_nft), own);
        line("  peer: nft, a table of one element", peer, 0);
        fmt::print("  of it computing: {:.2f} ms\n", own * 1e3);
        return {};
    }

    static Sample median(const std::vector<Sample>& samples) {
        std::vector<double> seconds, processor;
        for (const Sample& sample : samples) {
            seconds.push_back(sample.seconds);
            processor.push_back(sample.processor);
        }
        return {median(std::move(seconds)), median(std::move(processor))};
    }
    static double median(std::vector<double> values) {
        std::ranges::nth_element(values, values.begin() + values.size() / 2);
        return values[values.size() / 2];
    }

    /// What the proxy does when another program has changed a rule.
    Result<void> look() {
        net::NftTable table;
        Result<void> done;
        const double listed = seconds_of([&] {
            auto found = run_task(loop_, executor_->read(std::string(TableName), sets_of_services()));
            if (found)
                table = *std::move(found);
            else
                done = found.error();
        });
        TRY_VOID(done);
        bool intact = false;
        const double compared = seconds_of([&] { intact = read_listing(table).elements == rules_.expected_elements(); });
        report("look at the kernel's table", listed + compared,
               fmt::format("of it reading {:.0f} ms, {}", listed * 1e3, intact ? "as written" : "NOT AS WRITTEN"));
        return {};
    }

    int services_, each_;
    AsioLoop loop_;
    std::unique_ptr<WorkerPool> pool_ = make_thread_pool(2);
    std::unique_ptr<ProcessRunner> processes_ = make_process_runner(*pool_);
    std::unique_ptr<net::NftExecutor> executor_ = net::make_nft_executor(*processes_, *pool_);
    ServiceTable table_{NodeView{.name = "node-1"}};
    RuleSet rules_{RuleOptions{}};
};

}  // namespace
}  // namespace porthole::proxy::nftables

int main(int count, char** words) {
    // Before there are threads: they would stay outside.
    if (::unshare(CLONE_NEWNET) != 0) {
        fmt::print(stderr, "proxy_bench: a network namespace of its own needs root\n");
        return 1;
    }
    const int services = count > 1 ? std::atoi(words[1]) : 10000, endpoints = count > 2 ? std::atoi(words[2]) : 100000;
    const auto done = porthole::proxy::nftables::Bench(services, endpoints).run();
    if (!done) fmt::print(stderr, "proxy_bench: {}\n", done.error().message);
    return done ? 0 : 1;
}
