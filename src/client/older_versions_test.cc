#include "client/older_versions.h"

#include <gtest/gtest.h>

#include "api/discovery_v1.h"
#include "client/client.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::client {
namespace {

using api::discovery::v1::EndpointSlice;

constexpr const char* Slice = R"({"metadata":{"name":"web-1","namespace":"a","resourceVersion":"7"},"addressType":"IPv4","endpoints":[)"
                              R"({"addresses":["10.244.1.5"],"topology":{"kubernetes.io/hostname":"win-1"}}],"ports":[]})";

/// An API server that has EndpointSlices in one version only, and notes what it is asked for.
class Server final : public Transport {
public:
    Server(std::string version, std::vector<std::string>& asked) : version_(std::move(version)), asked_(asked) {}

    Task<ApiResponse> call(ApiRequest request) override {
        asked_.push_back(request.path);
        const bool known = request.path == "/apis/discovery.k8s.io/" + version_ + "/endpointslices";
        co_return known ? ApiResponse{200, bytes(std::string(R"({"metadata":{"resourceVersion":"9"},"items":[)") + Slice + "]}")}
                        : ApiResponse{404, bytes(R"({"kind":"Status","reason":"NotFound","code":404})")};
    }
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) override {
        asked_.push_back("watch " + request.path);
        co_return std::make_unique<Stream>();
    }

private:
    static net::Bytes bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }
    struct Stream final : ApiStream {
        Task<std::optional<net::Bytes>> next() override { co_return bytes(std::string(R"({"type":"ADDED","object":)") + Slice + "}"); }
    };

    std::string version_;
    std::vector<std::string>& asked_;
};

struct OlderVersionsTest : testing::Test {
    sim::SimLoop loop;
    std::vector<std::string> asked;
};

// The node agents use only what an API server of 1.20 has.
TEST_F(OlderVersionsTest, AServerWithoutTheVersionIsAskedForTheOneBefore) {
    OlderVersions transport(std::make_unique<Server>("v1beta1", asked));
    Client client(transport);
    for (int round = 0; round < 2; ++round) {
        const auto list = sim::run(loop, client.list<EndpointSlice>());
        ASSERT_TRUE(list) << list.error().message;
        ASSERT_EQ(list->items.size(), 1u);
        EXPECT_EQ(list->items[0].endpoints[0].deprecated_topology.at("kubernetes.io/hostname"), "win-1");
    }
    const std::vector<std::string> once = {"/apis/discovery.k8s.io/v1/endpointslices", "/apis/discovery.k8s.io/v1beta1/endpointslices",
                                           "/apis/discovery.k8s.io/v1beta1/endpointslices"};
    EXPECT_EQ(asked, once) << "it remembers";
    const auto stream = sim::run(loop, client.watch(EndpointSlice::kind(), {}));
    ASSERT_TRUE(stream);
    const auto event = sim::run(loop, (*stream)->next());
    EXPECT_NE((**event)->find("\"deprecatedTopology\":{"), std::string::npos);
    EXPECT_EQ(asked.back(), "watch /apis/discovery.k8s.io/v1beta1/endpointslices");
}

TEST_F(OlderVersionsTest, AServerOfTodayIsAskedOnce) {
    OlderVersions transport(std::make_unique<Server>("v1", asked));
    Client client(transport);
    ASSERT_TRUE(sim::run(loop, client.list<EndpointSlice>()));
    EXPECT_EQ(asked, std::vector<std::string>{"/apis/discovery.k8s.io/v1/endpointslices"});
}

TEST_F(OlderVersionsTest, WhatIsNotThereInEitherVersionIsNotFound) {
    OlderVersions transport(std::make_unique<Server>("v2", asked));
    Client client(transport);
    EXPECT_EQ(sim::run(loop, client.list<EndpointSlice>()).error().reason, Reason::NotFound);
    EXPECT_EQ(asked.size(), 2u);
    asked.clear();
    ApiRequest other{.method = "GET", .path = "/api/v1/nodes/none"};
    EXPECT_EQ(sim::run(loop, transport.call(other))->code, 404);
    EXPECT_EQ(asked.size(), 1u) << "other groups are passed on as they are";
}

}  // namespace
}  // namespace porthole::client
