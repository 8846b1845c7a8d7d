// Real packets through the real kernel, inside network namespaces of this process that have no way out. Needs root; skipped without.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "netlink/netlink.h"
#include "netlink/nft.h"
#include "proxy/nftables/layout.h"
#include "proxy/nftables/listing.h"
#include "proxy/nftables/rules.h"
#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/worker_pool.h"

namespace porthole::proxy::nftables {
namespace {

constexpr timeval Dropped{.tv_sec = 2, .tv_usec = 500'000};  ///< until a packet counts as dropped; others are waited for

IpAddress ip(const std::string& text) { return IpAddress::parse(text).value(); }

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, text.c_str(), &address.sin_addr);
    return address;
}

/// A thread in a network namespace of its own, which lives as long as the thread.
class Namespace {
public:
    Namespace() {
        std::promise<int> ready;
        auto tid = ready.get_future();
        thread_ = std::thread([this, &ready] {
            const bool made = unshare(CLONE_NEWNET) == 0;
            ready.set_value(made ? gettid() : -1);
            for (;;) {
                std::unique_lock lock(mutex_);
                work_arrived_.wait(lock, [&] { return !work_.empty() || ending_; });
                if (work_.empty()) return;
                auto work = std::move(work_.front());
                work_.erase(work_.begin());
                lock.unlock();
                work();
            }
        });
        tid_ = tid.get();
    }
    ~Namespace() {
        ending_ = true;
        for (auto& server : servers_) server.join();
        {
            std::lock_guard lock(mutex_);
            work_arrived_.notify_all();
        }
        thread_.join();
    }
    bool usable() const { return tid_ > 0; }
    int tid() const { return tid_; }

    template <class F>
    auto run(F function) -> decltype(function()) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        {
            std::lock_guard lock(mutex_);
            work_.push_back([&task] { task(); });
            work_arrived_.notify_all();
        }
        return result.get();
    }
    void shell(const std::string& commands) {
        EXPECT_EQ(run([commands] { return std::system(("set -e; " + commands).c_str()); }), 0) << commands;
    }

    /// Answers every connection and datagram on `port` with "name client".
    void serve(const std::string& name, std::uint16_t port) {
        const int tcp = run([port] { return bound(SOCK_STREAM, port); }), udp = run([port] { return bound(SOCK_DGRAM, port); });
        listen(tcp, 16);
        servers_.emplace_back([this, tcp, name] {
            while (!ending_) {
                sockaddr_in peer{};
                socklen_t size = sizeof peer;
                const int connection = accept(tcp, reinterpret_cast<sockaddr*>(&peer), &size);
                if (connection < 0) continue;
                const std::string answer = name + " " + text(peer);
                send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
                close(connection);
            }
            close(tcp);
        });
        servers_.emplace_back([this, udp, name] {
            while (!ending_) {
                char buffer[64];
                sockaddr_in peer{};
                socklen_t size = sizeof peer;
                if (recvfrom(udp, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&peer), &size) < 0) continue;
                const std::string answer = name + " " + text(peer);
                sendto(udp, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&peer), size);
            }
            close(udp);
        });
    }

    /// What a server answers, or why none does.
    std::string ask(const std::string& address, std::uint16_t port, int type = SOCK_STREAM, timeval limit = {.tv_sec = 60, .tv_usec = 0}) {
        return run([=]() -> std::string {
            const int socket = new_socket(type, limit);
            const sockaddr_in to = address_of(address, port);
            std::string answer = "?";
            char buffer[64];
            if (connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
                answer = failure();
            } else if (type == SOCK_DGRAM && send(socket, "x", 1, 0) < 0) {
                answer = failure();
            } else {
                const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
                answer = count < 0 ? failure() : std::string(buffer, static_cast<std::size_t>(count));
            }
            close(socket);
            return answer;
        });
    }

private:
    static std::string failure() { return errno == EAGAIN || errno == EINPROGRESS ? "timeout" : strerror(errno); }
    static std::string text(const sockaddr_in& address) {
        char buffer[INET_ADDRSTRLEN];
        return inet_ntop(AF_INET, &address.sin_addr, buffer, sizeof buffer);
    }
    static int new_socket(int type, timeval limit) {
        const int socket = ::socket(AF_INET, type, 0);
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        return socket;
    }
    static int bound(int type, std::uint16_t port) {
        const int socket = new_socket(type, {.tv_sec = 0, .tv_usec = 50'000}), on = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        const sockaddr_in address = address_of("0.0.0.0", port);
        bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        return socket;
    }

    std::atomic<bool> ending_ = false;
    int tid_ = -1;
    std::mutex mutex_;
    std::condition_variable work_arrived_;
    std::vector<std::function<void()>> work_;
    std::vector<std::thread> servers_;
    std::thread thread_;
};

/// A node with two pods on its bridge, and a client beyond its uplink.
class Packets : public ::testing::Test {
protected:
    void SetUp() override {
        if (!node_.usable()) GTEST_SKIP() << "needs root";
        node_.shell(
            "ip link set lo up; sysctl -qw net.ipv4.ip_forward=1; ip link add cni0 type bridge;"
            "ip addr add 10.244.0.1/24 dev cni0; ip link set cni0 up");
        attach(pod_a_, "a", "10.244.0.2/24", "10.244.0.1", true);
        attach(pod_b_, "b", "10.244.0.3/24", "10.244.0.1", true);
        attach(client_, "ext", "192.168.0.2/24", "192.168.0.1", false);
        node_.shell("ip addr add 192.168.0.1/24 dev n-ext; ip route add local 10.96.0.0/12 dev lo src 192.168.0.1");
        pod_a_.serve("a", 8080);
        pod_b_.serve("b", 8080);
        node_.serve("node", 22);
    }
    void attach(Namespace& who, const std::string& name, const std::string& address, const std::string& gateway, bool pod) {
        who.shell("ip link set lo up");
        node_.shell("ip link add n-" + name + " type veth peer name eth0 netns " + std::to_string(who.tid()) + "; ip link set n-" + name +
                    " up" + (pod ? "; ip link set n-" + name + " master cni0; bridge link set dev n-" + name + " hairpin on" : ""));
        who.shell("ip addr add " + address + " dev eth0; ip link set eth0 up; ip route add default via " + gateway);
    }
    void bridge_netfilter(bool on) {
        node_.shell(std::string("sysctl -qw net.bridge.bridge-nf-call-iptables=") + (on ? "1" : "0") + " || true");
    }

    void apply(const std::string& text) {
        AsioLoop loop;
        const auto pool = make_thread_pool(2);
        const auto processes = make_process_runner(*pool);
        const auto nft = net::make_nft_executor(*processes, *pool, "/proc/" + std::to_string(node_.tid()) + "/ns/net");
        const auto result = run_task(loop, nft->run(text));
        ASSERT_TRUE(result) << result.error().message << "\n" << text;
    }
    /// As the proxy does: without nft where there is no chain to be made.
    void apply(const Changes& changes) {
        if (!changes.chains.empty()) return apply(changes.text());
        const auto done = change(kernel_changes(changes.removed, changes.added));
        ASSERT_TRUE(done) << done.error().message << "\n" << changes.text();
    }
    Result<void> change(const std::vector<net::NftChange>& changes) {
        return node_.run([&] {
            net::NetlinkSocket socket(NETLINK_NETFILTER);
            return net::change_nft_table(socket, std::string(TableName), changes);
        });
    }
    Listing read_back(const std::vector<std::string>& sets) {
        const auto table = node_.run([&] {
            net::NetlinkSocket socket(NETLINK_NETFILTER);
            return net::read_nft_table(socket, std::string(TableName), sets);
        });
        EXPECT_TRUE(table) << table.error().message;
        return table ? read_listing(*table) : Listing();
    }
    void sync() {
        const auto changed = table_.update();
        if (first_) {
            apply(rules_.full(table_, true));
        } else {
            apply(rules_.change(table_, changed));
        }
        first_ = false;
    }
    void set_endpoints(std::vector<std::string> addresses, std::vector<std::string> elsewhere = {}) {
        SliceInfo slice{
            .key = "default/web-1", .service = "default/web", .ports = {{"t", Protocol::Tcp, 8080}, {"u", Protocol::Udp, 8080}}};
        for (const auto& address : addresses) slice.endpoints.push_back({.address = ip(address), .node_name = "here"});
        for (const auto& address : elsewhere) slice.endpoints.push_back({.address = ip(address), .node_name = "there"});
        table_.set_slice(slice);
    }
    static ServiceInfo web() {
        return {.key = "default/web",
                .cluster_ips = {ip("10.96.0.20")},
                .ports = {{"t", Protocol::Tcp, 80, 30080}, {"u", Protocol::Udp, 80, 30081}},
                .ignore_hints = true};
    }

    Namespace node_, pod_a_, pod_b_, client_;
    ServiceTable table_{
        {.name = "here", .node_port_addresses = {ip("192.168.0.1")}, .pod_prefixes = {IpPrefix::parse("10.244.0.0/24").value()}}};
    RuleSet rules_{{.pod_prefixes = {IpPrefix::parse("10.244.0.0/16").value()},
                    .service_prefixes = {IpPrefix::parse("10.96.0.0/12").value()},
                    .masquerade_neighbors = true}};
    bool first_ = true;
};

TEST_F(Packets, ReachAServiceFromEverywhere) {
    bridge_netfilter(false);
    table_.set_service(web());
    set_endpoints({"10.244.0.3"});
    sync();
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        const std::uint16_t node_port = type == SOCK_STREAM ? 30080 : 30081;
        EXPECT_EQ(pod_a_.ask("10.96.0.20", 80, type), "b 10.244.0.1") << "a neighbor on the same bridge";
        EXPECT_EQ(pod_b_.ask("10.96.0.20", 80, type), "b 10.244.0.1") << "the pod itself";
        EXPECT_EQ(node_.ask("10.96.0.20", 80, type).substr(0, 1), "b") << "the node";
        EXPECT_EQ(node_.ask("192.168.0.1", node_port, type).substr(0, 1), "b") << "node port from the node";
        EXPECT_EQ(pod_a_.ask("192.168.0.1", node_port, type), "b 10.244.0.1") << "node port from a pod";
        EXPECT_EQ(client_.ask("192.168.0.1", node_port, type), "b 10.244.0.1") << "node port from outside";
        EXPECT_EQ(client_.ask("10.96.0.20", 80, type), "b 10.244.0.1") << "cluster IP from outside, through the node";
    }
}

TEST_F(Packets, KeepTheSourceOfAPodWhereTheBridgeShowsReplies) {
    if (access("/proc/sys/net/bridge/bridge-nf-call-iptables", F_OK) != 0) GTEST_SKIP() << "no br_netfilter";
    bridge_netfilter(true);
    rules_ = RuleSet(
        {.pod_prefixes = {IpPrefix::parse("10.244.0.0/16").value()}, .service_prefixes = {IpPrefix::parse("10.96.0.0/12").value()}});
    table_.set_service(web());
    set_endpoints({"10.244.0.3"});
    sync();
    EXPECT_EQ(pod_a_.ask("10.96.0.20", 80), "b 10.244.0.2");
    EXPECT_EQ(pod_a_.ask("10.96.0.20", 80, SOCK_DGRAM), "b 10.244.0.2");
    EXPECT_EQ(pod_b_.ask("10.96.0.20", 80), "b 10.244.0.1");
}

TEST_F(Packets, OfTheNodeToItselfKeepTheirSource) {
    table_.set_service(web());
    set_endpoints({"192.168.0.1"});  // a pod with the node's own network
    sync();
    EXPECT_EQ(node_.ask("192.168.0.1", 22), "node 192.168.0.1");
}

TEST_F(Packets, AreSpreadOverAllEndpointsAndFollowChanges) {
    table_.set_service(web());
    set_endpoints({"10.244.0.2", "10.244.0.3"});
    sync();
    int a = 0, b = 0;
    for (int i = 0; i < 60; ++i) (client_.ask("192.168.0.1", 30080).substr(0, 1) == "a" ? a : b)++;
    EXPECT_GT(a, 10);
    EXPECT_GT(b, 10);
    set_endpoints({"10.244.0.2"});
    sync();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(client_.ask("192.168.0.1", 30080), "a 10.244.0.1");
    set_endpoints({"10.244.0.3", "10.244.0.2"});
    sync();
    std::set<std::string> answers;
    for (int i = 0; i < 40; ++i) answers.insert(client_.ask("192.168.0.1", 30080).substr(0, 1));
    EXPECT_EQ(answers, (std::set<std::string>{"a", "b"}));
}

TEST_F(Packets, StickToOneEndpointPerClient) {
    ServiceInfo service = web();
    service.affinity = std::chrono::seconds(60);
    table_.set_service(service);
    set_endpoints({"10.244.0.2", "10.244.0.3"});
    sync();
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        std::set<std::string> answers, inside;
        for (int i = 0; i < 20; ++i) {
            answers.insert(client_.ask("192.168.0.1", type == SOCK_STREAM ? 30080 : 30081, type));
            inside.insert(pod_a_.ask("10.96.0.20", 80, type).substr(0, 1));
        }
        EXPECT_EQ(answers.size(), 1u);
        EXPECT_EQ(inside.size(), 1u);
    }
}

TEST_F(Packets, WithoutATakerAreRefusedOnTheNode) {
    table_.set_service(web());
    sync();
    for (Namespace* who : {&pod_a_, &node_, &client_}) {
        EXPECT_EQ(who->ask("10.96.0.20", 80), "Connection refused") << "no endpoints";
        EXPECT_EQ(who->ask("10.96.0.20", 80, SOCK_DGRAM), "Connection refused") << "no endpoints, UDP";
        EXPECT_EQ(who->ask("10.96.0.20", 81), "Connection refused") << "no such port";
        EXPECT_EQ(who->ask("10.96.0.99", 80), "No route to host") << "no such service";
        EXPECT_EQ(who->ask("10.96.0.99", 80, SOCK_DGRAM), "Connection refused") << "no such service, UDP";
        EXPECT_EQ(who->ask("10.96.0.99", 22), "No route to host") << "never a process of the node";
        EXPECT_EQ(who->ask("192.168.0.1", 30080), "Connection refused") << "node port";
    }
}

TEST_F(Packets, FollowExternalTrafficPolicyLocal) {
    ServiceInfo service = web();
    service.external_local = true;
    service.load_balancer_ips = {ip("203.0.113.7")};
    for (const char* range : {"192.168.0.9/32", "10.244.0.0/24", "10.244.0.0/16"})
        service.source_ranges.push_back(IpPrefix::parse(range).value());
    table_.set_service(service);
    set_endpoints({"10.244.0.3"});
    sync();
    EXPECT_EQ(client_.ask("192.168.0.1", 30080), "b 192.168.0.2") << "the client's address is kept";
    EXPECT_EQ(client_.ask("203.0.113.7", 80, SOCK_STREAM, Dropped), "timeout") << "outside the source ranges";
    EXPECT_EQ(pod_a_.ask("203.0.113.7", 80).substr(0, 1), "b");
    set_endpoints({}, {"10.244.0.3"});
    sync();
    EXPECT_EQ(client_.ask("192.168.0.1", 30080, SOCK_STREAM, Dropped), "timeout") << "only elsewhere: dropped";
    EXPECT_EQ(pod_a_.ask("192.168.0.1", 30080).substr(0, 1), "b") << "from inside all endpoints count";
    EXPECT_EQ(node_.ask("192.168.0.1", 30080).substr(0, 1), "b");
    EXPECT_EQ(pod_a_.ask("10.96.0.20", 80).substr(0, 1), "b");
}

TEST_F(Packets, GoByATableThatIsReadBackAsItWasWritten) {
    ServiceInfo service = web();
    service.external_local = true;
    service.affinity = std::chrono::seconds(60);
    service.load_balancer_ips = {ip("203.0.113.7")};
    for (const char* range : {"192.168.0.2/32", "10.0.0.0/9", "172.16.0.0/12"})
        service.source_ranges.push_back(IpPrefix::parse(range).value());
    service.ports.push_back({"s", Protocol::Sctp, 81});
    table_.set_service(service);
    set_endpoints({"10.244.0.2", "10.244.0.3"}, {"10.244.1.4"});
    sync();
    const auto expect_as_written = [&] {
        const Listing listing = read_back(sets_of_services());
        EXPECT_EQ(listing.elements, rules_.expected_elements());
        EXPECT_EQ(listing.rules, rules_.expected_rules());
    };
    expect_as_written();
    const char served = client_.ask("192.168.0.1", 30080)[0];
    const std::string endpoint = served == 'a' ? "10.244.0.2" : "10.244.0.3";
    EXPECT_EQ(read_back({Affinity}).elements.at(Affinity),
              (std::set<std::string>{"192.168.0.2 . 192.168.0.1 . tcp . 30080 : " + endpoint + " . 8080"}));

    // Once more and with the chains that are there by now, so that nothing but elements changes.
    service.ports.push_back({"t", Protocol::Tcp, 82, 30082});
    service.ports.push_back({"u", Protocol::Udp, 83});
    service.source_ranges.clear();
    for (const char* range : {"192.168.0.0/30", "0.0.0.0/1", "198.51.100.7/32"})
        service.source_ranges.push_back(IpPrefix::parse(range).value());
    table_.set_service(service);
    set_endpoints({"10.244.0.3", "10.244.0.9"}, {"10.244.1.5"});
    const Changes more = rules_.change(table_, table_.update());
    EXPECT_EQ(more.chains, "");
    EXPECT_GT(more.added.size(), 10u);
    EXPECT_GT(more.removed.size(), 3u);
    apply(more);
    expect_as_written();
    const auto refused = change(kernel_changes({more.added.front(), {ClusterIps, "10.96.9.9", ""}}, {}));
    EXPECT_FALSE(refused) << "removes an element that is not there";
    expect_as_written();

    node_.shell(
        "nft add element ip porthole-proxy endpoints-tcp '{ 10.96.0.20 . 80 . 9 : 10.9.9.9 . 99 }'; nft add chain ip porthole-proxy left");
    const Listing changed = read_back(sets_of_services());
    EXPECT_TRUE(changed.elements.at(EndpointsTcp).contains("10.96.0.20 . 80 . 9 : 10.9.9.9 . 99"));
    EXPECT_TRUE(changed.rules.contains("left"));
    apply(rules_.full(table_, false));
    EXPECT_EQ(read_back(sets_of_services()).elements, rules_.expected_elements()) << "a whole table has no leftovers";
}

TEST_F(Packets, SurviveASecondWholeTable) {
    table_.set_service(web());
    set_endpoints({"10.244.0.2", "10.244.0.3"});
    sync();
    apply(rules_.full(table_, false));
    EXPECT_NE(client_.ask("192.168.0.1", 30080), "timeout");
    set_endpoints({"10.244.0.3"});
    sync();
    EXPECT_EQ(client_.ask("192.168.0.1", 30080).substr(0, 1), "b");
    apply(remove_table());
    EXPECT_EQ(client_.ask("192.168.0.1", 30080), "Connection refused");
}

}  // namespace
}  // namespace porthole::proxy::nftables
