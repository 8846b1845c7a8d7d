#include "apiserver/aggregation/extension_servers.h"

#include "api/core_v1.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

struct ExtensionServersTest : ObjectTest {
    ExtensionServersTest() {
        auto service = named<api::core::v1::Service>("ns", "ext");
        service.spec.type = "ExternalName";
        service.spec.external_name = "ext.example.com";
        put(service);
    }
    Result<ExtensionServers::Way> way_to(std::int32_t port) {
        APIService object;
        object.spec.ca_bundle = "authority";
        auto& service = object.spec.service.emplace();
        service.namespace_ = "ns";
        service.name = "ext";
        service.port = port;
        return connections.way_to(object);
    }
    int opened(int port) { return servers.at("https://ext.example.com:" + std::to_string(port)).opened; }

    FakeServers servers{loop_};
    ObjectReader reader{*store_};
    SeededRandom random{1};
    ExtensionServers connections{&servers, reader, random};
};

TEST_F(ExtensionServersTest, ConnectionsToSoManyServersAreKept) {
    const auto first = way_to(1000);
    ASSERT_TRUE(first) << first.error().message;
    for (int i = 1; i < 256; ++i) ASSERT_TRUE(way_to(1000 + i));
    ASSERT_TRUE(way_to(1000));
    EXPECT_EQ(opened(1000), 1) << "it is kept";
    ASSERT_TRUE(way_to(1256));
    ASSERT_TRUE(way_to(1000));
    EXPECT_EQ(opened(1000), 1) << "it was used a moment ago";
    ASSERT_TRUE(way_to(1001));
    EXPECT_EQ(opened(1001), 2) << "the least recently used one was closed";
    servers.at("https://ext.example.com:1000").answer = [](const net::HttpRequest&) { return net::HttpResponse{.code = 204}; };
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(way_to(2000 + i));
    EXPECT_EQ(run(first->client->send({}, {}))->code, 204) << "whoever uses it keeps it";
}

}  // namespace
}  // namespace porthole::apiserver
