#pragma once
#include <functional>
#include <map>
#include <set>

#include "kubelet/node/node_system.h"
#include "kubelet/probes/network_prober.h"

namespace porthole::kubelet::sim {

/// Every probe succeeds unless `on_http` and the like override it.
class FakeProber final : public NetworkProber {
public:
    std::function<ProbeOutcome(const HttpTarget&)> on_http;
    std::function<ProbeOutcome(const std::string& host, std::uint16_t port)> on_tcp, on_grpc;

    Task<ProbeOutcome> http(HttpTarget target, Duration) override {
        co_return on_http ? on_http(target) : ProbeOutcome{.success = true, .output = "ok"};
    }
    Task<ProbeOutcome> tcp(std::string host, std::uint16_t port, Duration) override {
        co_return on_tcp ? on_tcp(host, port) : ProbeOutcome{.success = true};
    }
    Task<ProbeOutcome> grpc(std::string host, std::uint16_t port, std::string, Duration) override {
        co_return on_grpc ? on_grpc(host, port) : ProbeOutcome{.success = true};
    }
};

/// Records mounts.
class FakeMounter final : public Mounter {
public:
    std::map<std::string, std::string> mounts;  ///< target → source
    std::set<std::string> read_only;
    std::map<std::string, std::uint64_t> sizes;  ///< of memory, and of huge pages
    std::string refusal;                         ///< error of creating directories in a volume that lacks them; "" if none are missing

    Result<void> mount_memory(const std::string& directory, std::uint64_t size_limit) override {
        mounts[directory] = "tmpfs";
        sizes[directory] = size_limit;
        return {};
    }
    Result<void> mount_huge_pages(const std::string& directory, std::uint64_t page_size) override {
        mounts[directory] = "hugetlbfs";
        sizes[directory] = page_size;
        return {};
    }
    Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target) override {
        if (!refusal.empty()) return Error(Reason::NotFound, sub_path);
        mounts[target] = root + "/" + sub_path;
        return target;
    }
    Result<void> make_beneath(const std::string&, const std::string&) override {
        return refusal.empty() ? Result<void>() : Error(Reason::Io, refusal);
    }
    Result<void> make_read_only(const std::string& directory) override {
        read_only.insert(directory);
        return {};
    }
    Result<void> unmount(const std::string& target) override {
        mounts.erase(target);
        return {};
    }
    Result<std::vector<std::string>> mounts_below(const std::string& directory) override {
        std::vector<std::string> found;
        for (auto at = mounts.rbegin(); at != mounts.rend(); ++at)
            if (at->first == directory || at->first.starts_with(directory + "/")) found.push_back(at->first);
        return found;
    }
};

/// A machine with 4 processors and 8 GiB.
class FakeHost final : public Host {
public:
    HostFacts facts;
    HostUsage now;
    FakeHost() {
        facts.processors = 4;
        facts.memory = 8ll << 30;
        facts.boot_id = "boot-1";
        facts.os_image = "Simulated Linux";
        facts.operating_system = "linux";
        facts.architecture = "amd64";
        facts.hostname = "sim";
        now.memory_available = 6ll << 30;
    }
    HostFacts describe() override { return facts; }
    HostUsage usage() override { return now; }
};

/// A node without cgroups.
struct FakeNodeSystem final : NodeSystem {
    FakeNodeSystem() : NodeSystem{std::make_unique<FakeHost>(), std::make_unique<FakeMounter>(), std::make_unique<NoCgroups>()} {}
    FakeHost& fake_host = static_cast<FakeHost&>(*host);
    FakeMounter& fake_mounter = static_cast<FakeMounter&>(*mounter);
};

}  // namespace porthole::kubelet::sim
