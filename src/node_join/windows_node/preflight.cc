#include "node_join/windows_node/preflight.h"

#include <algorithm>

#include "base/flag_set.h"
#include "base/strings.h"
#include "base/values/quantity.h"
#include "net/http/proxy.h"
#include "node_join/cluster_network.h"
#include "windows/builds.h"

namespace porthole::node_join {
namespace {

constexpr std::int64_t ToleratedSeconds = 30;
constexpr std::int64_t LeastReservedMemory = 2ll << 30;
constexpr std::uint32_t ReservedMilliPerProcessor = 50;  // proposed: a twentieth of every processor

Check passed(std::string id, std::string text) { return {std::move(id), CheckOutcome::Pass, std::move(text), ""}; }
Check warning(std::string id, std::string text, std::string remedy) {
    return {std::move(id), CheckOutcome::Warn, std::move(text), std::move(remedy)};
}
Check failed(std::string id, std::string text, std::string remedy) {
    return {std::move(id), CheckOutcome::Fail, std::move(text), std::move(remedy)};
}

Check check_elevation(const HostFacts& facts) {
    return facts.elevated ? passed("elevation", "running as an administrator")
                          : failed("elevation", "not running as an administrator", "open the console with \"Run as administrator\"");
}

Check check_build(const HostFacts& facts) {
    const std::string build = "Windows build " + std::to_string(facts.build);
    if (!is_supported_build(facts.build)) return failed("windows-build", build + " is too old", "use Windows Server 2019 (17763) or newer");
    const std::string unknown = windows::unknown_build("10.0." + std::to_string(facts.build));
    return unknown.empty() ? passed("windows-build", build)
                           : warning("windows-build", "UnsupportedOSBuild: " + unknown, "it may work, but has not been tested");
}

Check check_network_service(const HostFacts& facts) {
    return facts.network_service.empty()
               ? passed("containers-feature", "the host network service is available")
               : failed("containers-feature", facts.network_service, "Install-WindowsFeature Containers, then restart Windows");
}

Check check_runtime(const HostFacts& facts, const WindowsNode& node) {
    return facts.runtime_answers ? passed("runtime", "container runtime at " + node.runtime_endpoint)
                                 : failed("runtime", "no container runtime at " + node.runtime_endpoint,
                                          "install and start containerd (containerd --register-service; Start-Service containerd), or name "
                                          "another with --cri-socket");
}

Check check_adapter(const HostFacts& facts, const WindowsNode& node) {
    return facts.adapter.empty()
               ? failed("adapter", "no adapter of this machine has the address " + node.ip, "give the right one with --node-ip")
               : passed("adapter", node.ip + " on adapter " + facts.adapter);
}

Check check_ports(const HostFacts& facts) {
    if (facts.taken_ports.empty()) return passed("ports", "the ports of a node are free");
    const std::string list = join(facts.taken_ports, ", ", [](auto port) { return std::to_string(port); });
    return failed("ports", "in use by another program: TCP " + list, "find it with Get-NetTCPConnection -LocalPort and stop it");
}

Check check_names(const HostFacts& facts) {
    return facts.foreign_service.empty() ? passed("names", "the names of the services are free")
                                         : failed("names", "the service " + facts.foreign_service + " belongs to another program",
                                                  "leave the other cluster first, or delete it: sc.exe delete " + facts.foreign_service);
}

Check check_proxy(const HostFacts& facts) {
    if (facts.proxy.empty()) return passed("proxy", "no proxy is set");
    constexpr const char* SomeServer = "server.example.com";
    const auto proxy = net::ProxySettings("", facts.proxy, "").find(true, SomeServer, 443);  // shown without its password
    return proxy ? passed("proxy", "requests go through " + proxy->to_string() + ", those to pods and services do not")
                 : warning("proxy", "HTTPS_PROXY cannot be understood", "write it like http://proxy.example.com:3128");
}

Check check_stale_files(const HostFacts& facts) {
    return facts.stale_files.empty()
               ? passed("stale-files", "no files of an earlier set-up")
               : warning("stale-files", "left from an earlier set-up: " + join(facts.stale_files, ", "), "porthole.exe leave removes them");
}

Check check_page_file(const HostFacts& facts) {
    return facts.page_file > 0 ? passed("page-file", "a page file is configured")
                               : warning("page-file", "no page file: programs fail as soon as memory runs out",
                                         "enable one managed by Windows, and reserve memory with --system-reserved");
}

/// What "cpu=100m,memory=2Gi" keeps of memory; nothing for what cannot be read, which the kubelet then refuses by itself.
Quantity reserved_memory(std::string_view reserved) {
    constexpr std::string_view Key = "memory=";
    for (std::size_t at = 0; at < reserved.size();) {
        const std::size_t comma = std::min(reserved.find(',', at), reserved.size());
        const std::string_view one = reserved.substr(at, comma - at);
        if (one.starts_with(Key)) return Quantity::parse(one.substr(Key.size())).value_or(Quantity());
        at = comma + 1;
    }
    return {};
}

Check check_reservation(const HostFacts& facts, const WindowsNode& node) {
    if (reserved_memory(node.system_reserved).value() < LeastReservedMemory)
        return warning("reservation", "less than 2 GiB of memory is kept for Windows itself (" + node.system_reserved + ")",
                       "leave --system-reserved out, or give it memory=2Gi or more");
    const std::string text = node.system_reserved + " is kept for Windows itself";
    if (node.system_reserved.contains("cpu=")) return passed("reservation", text);
    return passed("reservation", text + "; for many pods keep processors too: --system-reserved=" + node.system_reserved +
                                     ",cpu=" + std::to_string(ReservedMilliPerProcessor * facts.processors) + "m");
}

}  // namespace

bool is_supported_build(std::uint32_t build) { return build >= windows::OldestBuild; }

std::vector<Check> preflight(const HostFacts& facts, const WindowsNode& node) {
    return {check_elevation(facts),
            check_build(facts),
            check_network_service(facts),
            check_runtime(facts, node),
            check_adapter(facts, node),
            check_ports(facts),
            check_names(facts),
            check_proxy(facts),
            check_stale_files(facts),
            check_page_file(facts),
            check_reservation(facts, node)};
}

Result<std::string> address_of_adapter(const std::string& name, const std::vector<net::Interface>& all) {
    for (const std::string& wanted : {"vEthernet (" + name + ")", name})
        for (const net::Interface& one : all)
            for (const IpAddress& address : one.addresses)
                if (equal_ignoring_case(one.name, wanted) && address.is_v4()) return address.to_string();
    return Error(Reason::NotFound, "no adapter \"" + name + "\" with an IPv4 address; this machine has " +
                                       join(all, ", ", [](const net::Interface& one) { return "\"" + one.name + "\""; }));
}

Check check_clock(std::int64_t seconds_behind) {
    if (seconds_behind <= ToleratedSeconds) return passed("clock", "the clock agrees with the cluster's");
    return failed("clock", "this machine's clock is " + std::to_string(seconds_behind) + " s behind the cluster's",
                  "set it (w32tm /resync) and join again");
}

std::string completed_no_proxy(const std::string& no_proxy, const WindowsNode& node) {
    std::vector<std::string> exceptions = proxy_exceptions(node.cluster_cidr, node.service_cidr, node.cluster_domain);
    exceptions.push_back(node.ip);
    return net::add_exceptions(no_proxy, exceptions);
}

}  // namespace porthole::node_join
