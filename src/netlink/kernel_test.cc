// The real kernel, in a network namespace of this process that has no way out. Needs root; skipped without.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "netlink/conntrack.h"
#include "netlink/network_stack.h"
#include "netlink/nft.h"
#include "netlink/overlay.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/worker_pool.h"

namespace porthole::net {
namespace {

IpPrefix prefix(const char* text) { return IpPrefix::parse(text).value(); }

class Kernel : public ::testing::Test {
protected:
    void SetUp() override {
        if (unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs root";
        ASSERT_EQ(
            std::system("ip link set lo up && ip link add br0 type bridge && ip addr add 192.168.0.1/24 dev br0 && ip link set br0 up"), 0);
    }
    template <class T>
    Result<T> run(std::function<Task<T>(ProcessRunner&, WorkerPool&)> make) {
        AsioLoop loop;
        const auto pool = make_thread_pool(2);  // its threads are made in this namespace
        const auto processes = make_process_runner(*pool);
        return run_task(loop, make(*processes, *pool));
    }
};

TEST_F(Kernel, SetsListsAndRemovesOwnRoutesOnly) {
    const auto stack = make_network_stack();
    const Route service{.destination = prefix("10.96.0.0/12"),
                        .kind = Route::Kind::Local,
                        .device = "lo",
                        .source = IpAddress::parse("192.168.0.1").value()};
    const Route nowhere{.destination = prefix("10.244.0.0/16"), .kind = Route::Kind::Unreachable};
    Route pods{.destination = prefix("10.244.2.0/24"), .gateway = IpAddress::parse("192.168.0.2").value()};
    for (const Route& route : {service, nowhere, pods}) {
        const auto set = stack->set_route(route);
        EXPECT_TRUE(set.has_value()) << set.error().message;
    }
    pods.gateway = IpAddress::parse("192.168.0.3").value();
    EXPECT_TRUE(stack->set_route(pods).has_value()) << "replaces";
    ASSERT_EQ(std::system("ip route add 10.9.0.0/16 via 192.168.0.9"), 0);
    auto routes = stack->own_routes().value();
    EXPECT_EQ(routes.size(), 3u);
    const auto has = [&](const Route& wanted) {
        return std::ranges::any_of(routes, [&](const Route& route) {
            return route.destination == wanted.destination && route.kind == wanted.kind && route.gateway == wanted.gateway;
        });
    };
    EXPECT_TRUE(has(service));
    EXPECT_TRUE(has(nowhere));
    EXPECT_TRUE(has(pods));
    for (const Route& route : routes) EXPECT_TRUE(stack->remove_route(route).has_value());
    EXPECT_TRUE(stack->own_routes()->empty());
    EXPECT_TRUE(stack->remove_route(pods).has_value()) << "none is fine";
    EXPECT_EQ(std::system("ip route show 10.9.0.0/16 | grep -q via"), 0);

    Route far = pods;
    far.gateway = IpAddress::parse("172.16.0.1").value();
    EXPECT_FALSE(stack->set_route(far).has_value());
}

TEST_F(Kernel, BindsAServiceAddressOnceItIsLocal) {
    const auto bindable = [] {
        const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(IpAddress::parse("10.96.0.10")->v4_number());
        const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        close(socket);
        return bound;
    };
    EXPECT_FALSE(bindable());
    EXPECT_TRUE(
        make_network_stack()->set_route({.destination = prefix("10.96.0.0/12"), .kind = Route::Kind::Local, .device = "lo"}).has_value());
    EXPECT_TRUE(bindable());
}

TEST_F(Kernel, ReadsAddressesAndSettingsAndRemovesDevices) {
    const auto stack = make_network_stack();
    const auto addresses = stack->addresses().value();
    EXPECT_TRUE(std::ranges::any_of(addresses, [](const InterfaceAddress& one) {
        return one.device == "br0" && one.address.to_string() == "192.168.0.1" && one.prefix_length == 24;
    }));
    EXPECT_TRUE(stack->set_setting("net/ipv4/ip_forward", "1").has_value());
    EXPECT_EQ(stack->setting("net/ipv4/ip_forward").value(), "1");
    EXPECT_EQ(stack->set_setting("net/ipv4/nonsense", "1").error().reason, Reason::NotFound);
    EXPECT_TRUE(stack->remove_device("br0").has_value());
    EXPECT_TRUE(stack->remove_device("br0").has_value()) << "none is fine";
}

TEST_F(Kernel, MakesAnOverlayDeviceOnceAndAnewWhenItDiffers) {
    const auto overlay = make_overlay();
    OverlayDevice device{.name = "overlay0",
                         .vni = 4096,
                         .port = 4789,
                         .node = IpAddress::parse("192.168.0.1").value(),
                         .mac = "0a:00:00:00:00:01",
                         .address = IpAddress::parse("10.244.1.0").value(),
                         .mtu = 1400};
    const auto ensure = [&] {
        const auto done = overlay->ensure(device);
        EXPECT_TRUE(done.has_value()) << done.error().message;
        return if_nametoindex("overlay0");
    };
    const unsigned index = ensure();
    EXPECT_EQ(
        std::system(
            "ip -d link show overlay0 | tr '\\n' ' ' | grep -q 'mtu 1400.*0a:00:00:00:00:01.*vxlan id 4096 local 192.168.0.1 .*dstport "
            "4789 nolearning'"),
        0);
    EXPECT_EQ(std::system("ip addr show overlay0 | grep -q 'inet 10.244.1.0/32'"), 0);
    EXPECT_EQ(ensure(), index) << "the same device is kept";
    device.vni = 4097;
    EXPECT_NE(ensure(), index) << "one of another network is made anew";

    const OverlayPeer peer{
        .hop = IpAddress::parse("10.244.2.0").value(), .mac = "0a:00:00:00:00:02", .node = IpAddress::parse("192.168.0.2").value()};
    ASSERT_TRUE(overlay->set_peer("overlay0", peer).has_value());
    EXPECT_EQ(std::system("ip neigh show dev overlay0 | grep -q '10.244.2.0 lladdr 0a:00:00:00:00:02'"), 0);
    EXPECT_EQ(std::system("bridge fdb show dev overlay0 | grep -q '0a:00:00:00:00:02 dst 192.168.0.2'"), 0);
    ASSERT_TRUE(overlay->remove_peer("overlay0", peer).has_value());
    EXPECT_TRUE(overlay->remove_peer("overlay0", peer).has_value()) << "none is fine";
    EXPECT_NE(std::system("ip neigh show dev overlay0 | grep -q lladdr"), 0);
}

TEST_F(Kernel, RunsNftAndSeesItsGeneration) {
    const auto table = run<NftTable>([](ProcessRunner& processes, WorkerPool& pool) {
        return [](ProcessRunner& processes, WorkerPool& pool) -> Task<NftTable> {
            const auto nft = make_nft_executor(processes, pool);
            const auto before = nft->generation();
            CHECK(before.has_value());
            CO_TRY_VOID(
                co_await nft->run("table ip t {\n\tset s {\n\t\ttype ipv4_addr\n\t\telements = { 10.0.0.1 }\n\t}\n"
                                  "\tchain c {\n\t\taccept\n\t\taccept\n\t}\n\tchain empty {\n\t}\n}\n"
                                  "table ip other {\n\tchain c {\n\t\taccept\n\t}\n}\n"));
            CHECK(nft->generation() != before);
            const auto refused = co_await nft->run("add element ip t nothing { 1 }\n");
            CHECK(!refused && refused.error().reason == Reason::Io);
            const auto missing = co_await nft->read("t", {"nothing"});
            CHECK(!missing && missing.error().reason == Reason::NotFound);
            co_return co_await nft->read("t", {"s"});
        }(processes, pool);
    });
    ASSERT_TRUE(table.has_value()) << table.error().message;
    ASSERT_EQ(table->elements.at("s").size(), 1u);
    EXPECT_EQ(table->elements.at("s")[0].key, std::string("\x0a\0\0\1", 4));
    EXPECT_EQ(table->rules, (std::map<std::string, std::size_t>{{"c", 2}, {"empty", 0}}));
}

TEST_F(Kernel, ForgetsMatchingConnectionsOnly) {
    ASSERT_EQ(std::system("nft add table ip t && nft 'add chain ip t c { type nat hook output priority -100; }' &&"
                          "nft add rule ip t c ip daddr 192.168.0.77 udp dport 53 dnat to 192.168.0.1:5353"),
              0);
    const auto send = [](const char* to, std::uint16_t port) {
        const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(IpAddress::parse(to)->v4_number());
        sendto(socket, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        close(socket);
    };
    const auto forget = [&](ConntrackFilter filter) {
        return run<std::size_t>([filter](ProcessRunner&, WorkerPool& pool) {
                   return [](WorkerPool& pool, ConntrackFilter filter) -> Task<std::size_t> {
                       const auto conntrack = make_conntrack(pool);
                       co_return co_await conntrack->forget({filter});
                   }(pool, filter);
               })
            .value();
    };
    send("192.168.0.77", 53);
    send("192.168.0.1", 9999);
    ConntrackFilter filter{.protocol = IPPROTO_UDP, .destination = IpAddress::parse("192.168.0.77").value(), .port = 53};
    filter.backend = IpAddress::parse("192.168.0.2").value();
    filter.backend_port = 5353;
    EXPECT_EQ(forget(filter), 0u) << "another backend";
    filter.backend = IpAddress::parse("192.168.0.1").value();
    EXPECT_EQ(forget(filter), 1u);
    EXPECT_EQ(forget(filter), 0u) << "already gone";
    filter.backend.reset();
    filter.destination = IpAddress::parse("192.168.0.1").value();
    filter.port = 9999;
    EXPECT_EQ(forget(filter), 1u);
}

}  // namespace
}  // namespace porthole::net
