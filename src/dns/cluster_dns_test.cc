#include "dns/cluster_dns.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::dns {
namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;
using namespace std::chrono_literals;

class FakeUpstream final : public Upstream {
public:
    Task<std::string> exchange(IpAddress server, std::string query, bool) override {
        asked.push_back(server.to_string());
        const Query read = read_query(query).value();
        co_return write_reply(read, {.answers = {{read.name, Type::A, 60, IpAddress::parse("192.0.2.1").value()}}}, 512);
    }
    std::vector<std::string> asked;
};

struct DnsWorld {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{make_null_sink(), "dns"};
    client::Informers informers{{loop, client, random, log}};
    sim::MemoryFileSystem files{loop};
    FakeUpstream upstream;
    std::unique_ptr<ClusterDns> dns;
    Scope scope{loop};

    DnsWorld() {
        files.create_directories("/etc", 0755).value();
        files.write("/etc/resolv.conf", "nameserver 10.96.0.10\nnameserver 192.0.2.53\n", 0644).value();
        dns = std::make_unique<ClusterDns>(ClusterDnsContext{loop, informers, upstream, files, random, log},
                                           ClusterDnsOptions{.zone = {.server_address = IpAddress::parse("10.96.0.10").value(),
                                                                      .own_prefixes = {IpPrefix::parse("10.244.0.0/16").value()}}});
        core::Namespace space;
        space.metadata.name = "default";
        api.put(space);
        scope.spawn(dns->run());
    }
    ~DnsWorld() {
        sim::run(loop, scope.close()).value();
        sim::run(loop, informers.close()).value();
    }
    void start() {
        informers.start();
        loop.advance(1s);
    }
    std::string ask(const char* name) {
        const std::string message = write_query(7, {.recursion_desired = true, .name = Name::parse(name).value(), .type = Type::A});
        auto answer = dns->resolver().answer_now(message, DnsTransport::Udp);
        const std::string reply =
            answer.reply ? *answer.reply : sim::run(loop, dns->resolver().answer_later(*answer.later, DnsTransport::Udp)).value();
        std::string text;
        for (const Record& record : read_addresses(reply).value()) {
            const auto* address = std::get_if<IpAddress>(&record.data);
            text.append(text.empty() ? "" : " ").append(address ? address->to_string() : "alias");
        }
        return text.empty() ? "rcode " + std::to_string(static_cast<int>(read_reply(reply)->rcode)) : text;
    }
};

core::Service service(const char* address) {
    core::Service object;
    object.metadata.namespace_ = "default";
    object.metadata.name = "web";
    object.spec.type = "ClusterIP";
    object.spec.cluster_ip = address;
    return object;
}

TEST(ClusterDns, SaysNothingWrongBeforeItKnowsTheCluster) {
    DnsWorld world;
    world.api.put(service("10.96.0.20"));
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "rcode 2");
    world.start();
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "10.96.0.20");
}

TEST(ClusterDns, FollowsServicesAndEndpoints) {
    DnsWorld world;
    world.start();
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "rcode 3");
    world.api.put(service("None"));
    discovery::EndpointSlice slice;
    slice.metadata.namespace_ = "default";
    slice.metadata.name = "web-1";
    slice.metadata.labels = {{"kubernetes.io/service-name", "web"}};
    slice.address_type = "IPv4";
    slice.endpoints.resize(1);
    slice.endpoints[0].addresses = {"10.244.0.2"};
    slice.endpoints[0].hostname = "web-0";
    world.api.put(slice);
    world.loop.advance(1s);
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "10.244.0.2");
    EXPECT_EQ(world.ask("web-0.web.default.svc.cluster.local"), "10.244.0.2");
    slice.endpoints[0].conditions.ready = false;
    world.api.put(slice);
    world.loop.advance(1s);
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "rcode 3");
    world.api.erase<core::Service>({"default", "web"});
    world.loop.advance(1s);
    EXPECT_EQ(world.ask("web-0.web.default.svc.cluster.local"), "rcode 3");
}

TEST(ClusterDns, AsksOthersButNeverItself) {
    DnsWorld world;
    world.start();
    EXPECT_EQ(world.ask("example.com"), "192.0.2.1");
    EXPECT_EQ(world.upstream.asked, std::vector<std::string>{"192.0.2.53"});
    core::Service external = service("");
    external.spec.type = "ExternalName";
    external.spec.external_name = "api.example.com";
    world.api.put(external);
    world.loop.advance(1s);
    EXPECT_EQ(world.ask("web.default.svc.cluster.local"), "alias 192.0.2.1");
    world.files.write("/etc/resolv.conf", "", 0644).value();
    world.loop.advance(31s);
    EXPECT_EQ(world.ask("other.example.com"), "rcode 2");
}

TEST(ClusterDns, KnowsItsPodsAndNodesAndNobodyElse) {
    DnsWorld world;
    core::Node node;
    node.metadata.name = "linux-2";
    node.status.addresses = {{.type = "InternalIP", .address = "192.0.2.7"}, {.type = "Hostname", .address = "linux-2"}};
    world.api.put(node);
    world.start();
    const auto knows = [&](const char* address) { return world.dns->knows(IpAddress::parse(address).value()); };
    for (const char* own : {"10.244.3.4", "192.0.2.7", "127.0.0.1", "10.96.0.10"}) EXPECT_TRUE(knows(own)) << own;
    for (const char* other : {"192.0.2.8", "203.0.113.1", "2001:db8::1"}) EXPECT_FALSE(knows(other)) << other;
    node.metadata.name = "linux-3";  // as a node does that takes the place of another
    world.api.put(node);
    world.loop.advance(1s);
    world.api.erase<core::Node>({"", "linux-2"});
    world.loop.advance(1s);
    EXPECT_TRUE(knows("192.0.2.7"));
    world.api.change<core::Node>({"", "linux-3"}, [](core::Node& n) { n.status.addresses[0].address = "192.0.2.8"; });
    world.loop.advance(1s);
    EXPECT_TRUE(knows("192.0.2.8"));
    EXPECT_FALSE(knows("192.0.2.7"));
}

TEST(ClusterDns, ANodeOfManyAddressesTakesLinearTime) {
    DnsWorld world;
    core::Node node;
    node.metadata.name = "linux-2";
    for (std::uint32_t i = 0; i < 20'000; ++i)
        node.status.addresses.push_back({.type = "InternalIP", .address = IpAddress::v4(0xac100000 + i).to_string()});
    world.api.put(node);
    world.start();
    for (int beat = 0; beat < 3; ++beat) {
        world.api.change<core::Node>({"", "linux-2"}, [&](core::Node& n) { n.metadata.labels["beat"] = std::to_string(beat); });
        world.loop.advance(1s);
    }
    EXPECT_TRUE(world.dns->knows(IpAddress::parse("172.16.78.31").value()));
}

TEST(ClusterDns, MakesItsServiceOnce) {
    DnsWorld world;
    EXPECT_TRUE(sim::run(world.loop, ensure_dns_service(world.client, "10.96.0.10")).has_value());
    EXPECT_TRUE(sim::run(world.loop, ensure_dns_service(world.client, "10.96.0.10")).has_value());
    const auto made = world.api.find<core::Service>({"kube-system", "kube-dns"});
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->spec.cluster_ip, "10.96.0.10");
}

TEST(Resolver, AnswersOddQueriesAsTheyDeserve) {
    DnsWorld world;
    world.start();
    const auto rcode = [&](Query query) {
        return read_reply(*world.dns->resolver().answer_now(write_query(1, query), DnsTransport::Udp).reply)->rcode;
    };
    const Name name = Name::parse("cluster.local").value();
    EXPECT_EQ(rcode({.name = name, .type = Type::AXFR}), Rcode::Refused);
    EXPECT_EQ(rcode({.name = name, .type = Type::TXT, .class_ = 3}), Rcode::Refused);
    std::string status_query = write_query(1, {.name = name});
    status_query[2] = 0x10;
    EXPECT_EQ(read_reply(*world.dns->resolver().answer_now(status_query, DnsTransport::Udp).reply)->rcode, Rcode::NotImp);
    EXPECT_EQ(*world.dns->resolver().answer_now("junk", DnsTransport::Udp).reply, "");
    EXPECT_EQ(world.dns->resolver().answer_now(status_query.substr(0, 20), DnsTransport::Udp).reply->size(), 12u);
}

}  // namespace
}  // namespace porthole::dns
