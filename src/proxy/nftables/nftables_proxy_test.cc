#include "proxy/nftables/nftables_proxy.h"

#include <gtest/gtest.h>

#include "api/discovery_v1.h"
#include "client/fake/fake_api.h"
#include "proxy/nftables/layout.h"
#include "proxy/nftables/listing.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::proxy::nftables {
namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;
using namespace std::chrono_literals;

class FakeNft final : public net::NftExecutor {
public:
    Task<> run(std::string commands) override {
        if (failures > 0) {
            --failures;
            co_return Error(Reason::Io, "nft: no");
        }
        texts.push_back(std::move(commands));
        ++current_generation;
        co_return {};
    }
    /// Noted as run() would have to be told it.
    Task<> change(std::string, std::vector<net::NftChange> changes) override {
        const auto commands = [](const char* verb, const std::string& set, const std::vector<net::NftElement>& elements) {
            std::string text;
            for (const std::string& element : read_listing({.elements = {{set, elements}}}).elements.at(set))
                text += (text.empty() ? "" : ", ") + element;
            return text.empty() ? "" : std::string(verb) + " element ip porthole-proxy " + set + " { " + text + " }\n";
        };
        std::string text;
        for (const auto& change : changes) text += commands("delete", change.set, change.removed);
        for (const auto& change : changes) text += commands("add", change.set, change.added);
        ++direct_changes;
        return run(std::move(text));
    }
    Task<net::NftTable> read(std::string, std::vector<std::string> sets) override {
        ++reads;
        for (const std::string& set : sets) present.elements.try_emplace(set);
        co_return net::NftTable(present);
    }
    std::optional<std::uint32_t> generation() override { return current_generation; }

    std::vector<std::string> texts;
    net::NftTable present;
    int reads = 0, direct_changes = 0;
    std::uint32_t current_generation = 1;
    int failures = 0;
};

class FakeConntrack final : public net::Conntrack {
public:
    Task<std::size_t> forget(std::vector<net::ConntrackFilter> filters) override {
        forgotten.insert(forgotten.end(), filters.begin(), filters.end());
        co_return std::size_t{0};
    }
    Result<void> set_tcp_timeout(const std::string& state, std::chrono::seconds timeout) override {
        timeouts[state] = timeout;
        return {};
    }
    std::vector<net::ConntrackFilter> forgotten;
    std::map<std::string, std::chrono::seconds> timeouts;
};

core::Service service(const char* protocol = "TCP") {
    core::Service object;
    object.metadata.namespace_ = "default";
    object.metadata.name = "web";
    object.spec.type = "ClusterIP";
    object.spec.cluster_ip = "10.96.0.20";
    object.spec.cluster_ips = {"10.96.0.20"};
    object.spec.ports.push_back({.protocol = protocol, .port = 80});
    return object;
}

discovery::EndpointSlice slice(std::vector<std::string> addresses, const char* protocol = "TCP") {
    discovery::EndpointSlice object;
    object.metadata.namespace_ = "default";
    object.metadata.name = "web-1";
    object.metadata.labels = {{"kubernetes.io/service-name", "web"}};
    object.address_type = "IPv4";
    object.ports.push_back({.name = "", .protocol = protocol, .port = 8080});
    for (auto& address : addresses) {
        discovery::Endpoint endpoint;
        endpoint.addresses = {address};
        object.endpoints.push_back(endpoint);
    }
    return object;
}

std::string bytes(const char* address) {
    const auto parsed = IpAddress::parse(address).value();
    return {parsed.bytes().begin(), parsed.bytes().begin() + 4};
}

struct ProxyWorld {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{make_null_sink(), "proxy"};
    client::Informers informers{{loop, client, random, log}};
    FakeNft nft;
    FakeConntrack conntrack;
    NftablesProxy proxy{{loop, informers, nft, conntrack, nullptr, log}, {.node_name = "here"}};
    Scope scope{loop};

    ProxyWorld() {
        informers.start();
        scope.spawn(proxy.run());
    }
    ~ProxyWorld() {
        sim::run(loop, scope.close()).value();
        sim::run(loop, informers.close()).value();
    }
    /// The texts executed since the last call.
    std::vector<std::string> step(Duration duration = 1s) {
        loop.advance(duration);
        return std::exchange(nft.texts, {});
    }
};

TEST(NftablesProxy, WritesTheWholeTableOnceAndThenDifferences) {
    ProxyWorld world;
    world.api.put(service());
    world.api.put(slice({"10.244.0.2"}));
    const auto first = world.step();
    ASSERT_EQ(first.size(), 1u);
    EXPECT_NE(first[0].find("chain nat-prerouting"), std::string::npos);
    EXPECT_NE(first[0].find("10.96.0.20 . 80 . 0 : 10.244.0.2 . 8080"), std::string::npos);
    EXPECT_EQ(world.conntrack.timeouts, (std::map<std::string, std::chrono::seconds>{{"established", 24h}, {"close_wait", 1h}}));
    world.api.put(slice({"10.244.0.3"}));
    EXPECT_EQ(world.step(),
              (std::vector<std::string>{"delete element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 0 }\n"
                                        "add element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 0 : 10.244.0.3 . 8080 }\n"}));
    EXPECT_EQ(world.nft.direct_changes, 1) << "no program is started for one endpoint";
    EXPECT_TRUE(world.proxy.in_step());
    world.api.change<core::Service>({"default", "web"}, [](core::Service& s) { s.metadata.labels["x"] = "y"; });
    EXPECT_TRUE(world.step().empty()) << "nothing that matters to traffic";
}

TEST(NftablesProxy, WritesEverythingAgainAfterAFailure) {
    ProxyWorld world;
    world.api.put(service());
    world.step();
    world.nft.failures = 2;
    world.api.put(slice({"10.244.0.2"}));
    const auto texts = world.step();
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_NE(texts[0].find("chain nat-prerouting"), std::string::npos);
    EXPECT_NE(texts[0].find("delete table ip porthole-proxy"), std::string::npos) << "a whole table failed too, so from scratch";
    EXPECT_NE(texts[0].find("10.244.0.2 . 8080"), std::string::npos);
    EXPECT_EQ(world.proxy.counts().failures, 2u);
}

TEST(NftablesProxy, RepairsWhatOthersHaveChanged) {
    ProxyWorld world;
    world.api.put(service());
    world.step();
    EXPECT_TRUE(world.step(2min).empty());
    EXPECT_EQ(world.nft.reads, 0) << "nobody has changed a rule, so there is nothing to read";
    ++world.nft.current_generation;
    const auto texts = world.step(1min);
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_NE(texts[0].find("chain nat-prerouting"), std::string::npos);
    EXPECT_EQ(world.proxy.counts().repairs, 1u);
}

TEST(NftablesProxy, LeavesTheTableAloneWhenOthersHaveChangedTheirs) {
    ProxyWorld world;
    world.api.put(service());
    world.api.put(slice({"10.244.0.2"}));
    world.step();
    const std::string frontend = bytes("10.96.0.20") + std::string("\6\0\0\0\0\120\0\0", 8);
    const std::string slot = bytes("10.96.0.20") + std::string("\0\120\0\0\0\0\0\0", 8);
    auto& present = world.nft.present;
    present.rules = base_rule_counts();
    present.rules["cluster-ip-1"] = 4;
    present.elements["cluster-ips"] = {{.key = bytes("10.96.0.20")}};
    present.elements["service-ips"] = {{.key = frontend, .verdict = "goto cluster-ip-1"}};
    present.elements["endpoints-tcp"] = {{.key = slot, .data = bytes("10.244.0.2") + std::string("\x1f\x90\0\0", 4)}};
    ++world.nft.current_generation;
    EXPECT_TRUE(world.step(1min).empty());
    EXPECT_EQ(world.nft.reads, 1);
    EXPECT_EQ(world.proxy.counts().repairs, 0u);

    present.elements["endpoints-tcp"].push_back(present.elements["endpoints-tcp"][0]);
    present.elements["endpoints-tcp"][1].key[8] = 7;
    ++world.nft.current_generation;
    const auto texts = world.step(1min);
    ASSERT_EQ(texts.size(), 1u) << "an element that nobody knows";
    EXPECT_NE(texts[0].find("flush map ip porthole-proxy endpoints-tcp"), std::string::npos);
    EXPECT_EQ(texts[0].find("delete table"), std::string::npos);
}

TEST(NftablesProxy, ForgetsDatagramFlowsToEndpointsThatHaveGone) {
    ProxyWorld world;
    world.api.put(service("UDP"));
    world.api.put(slice({"10.244.0.2", "10.244.0.3"}, "UDP"));
    world.step();
    world.conntrack.forgotten.clear();
    world.api.put(slice({"10.244.0.3"}, "UDP"));
    world.step();
    ASSERT_EQ(world.conntrack.forgotten.size(), 1u);
    EXPECT_EQ(world.conntrack.forgotten[0].destination.to_string(), "10.96.0.20");
    EXPECT_EQ(world.conntrack.forgotten[0].backend->to_string(), "10.244.0.2");
    world.api.put(slice({}, "UDP"));
    world.step();
    world.conntrack.forgotten.clear();
    world.api.put(slice({"10.244.0.4"}, "UDP"));
    world.step();
    ASSERT_EQ(world.conntrack.forgotten.size(), 1u);
    EXPECT_FALSE(world.conntrack.forgotten[0].backend.has_value()) << "flows from before there was any endpoint";
}

TEST(NftablesProxy, ForgetsClientsThatStuckToAnEndpointThatHasGone) {
    ProxyWorld world;
    core::Service sticky = service();
    sticky.spec.session_affinity = "ClientIP";
    world.api.put(sticky);
    world.api.put(slice({"10.244.0.2", "10.244.0.3"}));
    world.step();
    const auto stuck = [](const char* client, const char* endpoint) {
        return net::NftElement{.key = bytes(client) + bytes("10.96.0.20") + std::string("\6\0\0\0\0\120\0\0", 8),
                               .data = bytes(endpoint) + std::string("\x1f\x90\0\0", 4)};
    };
    world.nft.present.elements["affinity"] = {stuck("10.244.0.9", "10.244.0.2"), stuck("10.244.0.8", "10.244.0.3")};
    world.api.put(slice({"10.244.0.3"}));
    const auto texts = world.step();
    ASSERT_EQ(texts.size(), 2u);
    EXPECT_EQ(texts[1], "delete element ip porthole-proxy affinity { 10.244.0.9 . 10.96.0.20 . tcp . 80 }\n");
}

}  // namespace
}  // namespace porthole::proxy::nftables
