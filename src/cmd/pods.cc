#include "cmd/pods.h"

#include "kubelet/cri/cri_grpc.h"

namespace porthole::cmd {
namespace {

using namespace std::chrono_literals;
namespace cri = kubelet::cri;

Task<> remove_all(kubelet::RuntimeService& runtime) {
    CO_TRY(const auto listed, co_await runtime.list_pod_sandbox({}));
    for (const cri::PodSandbox& sandbox : listed.items) {
        // What cannot be stopped in good order is killed afterwards; the others must not wait for it.
        (void)co_await with_timeout(runtime.stop_pod_sandbox({.pod_sandbox_id = sandbox.id}), 10s, "stopping a sandbox");
        (void)co_await with_timeout(runtime.remove_pod_sandbox({.pod_sandbox_id = sandbox.id}), 5s, "removing a sandbox");
    }
    co_return {};
}

}  // namespace

Task<> remove_pods(AsioLoop& loop, std::string socket) {
    const auto connection = kubelet::connect_runtime(loop, socket);
    auto removed = co_await remove_all(connection->runtime());
    CO_CHECK(co_await connection->close());
    co_return removed;
}

Task<> remove_node_rules(ProcessRunner& processes, const Cluster&) {
    for (const char* table : {"porthole-proxy", "porthole-network"}) {
        (void)co_await processes.run({.arguments = {"nft", "delete", "table", "ip", table}});
    }
    (void)co_await processes.run({.arguments = {"ip", "link", "del", "cni0"}});
    // The node network marks its routes with this protocol number.
    (void)co_await processes.run({.arguments = {"ip", "route", "flush", "table", "all", "proto", "80"}});
    // The port-mapping plugin leaves its hooks and chains behind when the last pod goes.
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"-D", "PREROUTING", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "CNI-HOSTPORT-DNAT"},
          {"-D", "OUTPUT", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "CNI-HOSTPORT-DNAT"},
          {"-D", "POSTROUTING", "-m", "comment", "--comment", "CNI portfwd requiring masquerade", "-j", "CNI-HOSTPORT-MASQ"},
          {"-F", "CNI-HOSTPORT-DNAT"},
          {"-X", "CNI-HOSTPORT-DNAT"},
          {"-F", "CNI-HOSTPORT-SETMARK"},
          {"-F", "CNI-HOSTPORT-MASQ"},
          {"-X", "CNI-HOSTPORT-SETMARK"},
          {"-X", "CNI-HOSTPORT-MASQ"}}) {
        Command command{.arguments = {"iptables", "-t", "nat"}};
        command.arguments.insert(command.arguments.end(), words.begin(), words.end());
        const auto done = co_await processes.run(std::move(command));
        if (!done) break;  // no iptables, no such rules
    }
    co_return {};
}

}  // namespace porthole::cmd
