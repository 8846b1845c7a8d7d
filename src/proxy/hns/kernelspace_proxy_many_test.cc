#include <gmock/gmock.h>

#include "proxy/hns/kernelspace_proxy_fixture.h"

namespace porthole::proxy::hns {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// "many-N" at 10.96.1.N, with so many endpoints of its own on another node, from 10.200.N.1 on.
void put_services(World& world, int services, int endpoints) {
    for (int number = 0; number < services; ++number) {
        const std::string name = "many-" + std::to_string(number);
        world.api.put(service(name, "10.96.1." + std::to_string(number)));
        std::vector<std::string> addresses;
        for (int endpoint = 1; endpoint <= endpoints; ++endpoint) {
            addresses.push_back("10.200." + std::to_string(number) + "." + std::to_string(endpoint));
        }
        world.api.put(slice(addresses, name));
    }
}

TEST(KernelspaceProxy, MakesManyObjectsInOneCallButNotTooMany) {
    World world;
    world.make_network();
    put_services(world, 100, 3);
    world.start();
    EXPECT_EQ(world.rules().size(), 100u);
    EXPECT_EQ(world.endpoints().size(), 300u);
    EXPECT_TRUE(world.proxy->in_step());
    EXPECT_EQ(world.counted.writes, 400) << "each object once";
    EXPECT_EQ(world.counted.turns, 3 + 1 + 2 + 1) << "for 64 services and the rest: 192 and 108 endpoints, then the load balancers";
    EXPECT_EQ(world.counted.largest_turn, MadeAtOnce) << "the end of the proxy waits for a call";
}

TEST(KernelspaceProxy, AnEndpointIsMadeOnceForAllServicesThatNeedIt) {
    World world;
    world.make_network();
    for (const char* name : {"a", "b", "c"}) {
        world.api.put(service(name, std::string("10.96.0.") + std::to_string(10 + name[0] - 'a')));
        world.api.put(slice({"10.244.4.9"}, name));
    }
    world.start();
    EXPECT_EQ(world.rules().size(), 3u);
    EXPECT_EQ(world.counted.writes, 4);
}

TEST(KernelspaceProxy, AnEndpointThatIsRefusedKeepsBackItsOwnServiceAloneAndIsTriedAgain) {
    World world;
    world.make_network();
    put_services(world, 3, 2);
    world.control(R"({"fail":[{"call":"HcnCreateEndpoint","hresult":"0x803b001e","times":1}]})");  // of many-0
    world.loop.advance(1s);
    world.start();
    EXPECT_EQ(world.proxy->counts().failures, 1u) << "the others were made at once";
    EXPECT_THAT(world.told, HasSubstr("10.200.0.1")) << "the log says which";
    world.loop.advance(10s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.1.0:80->8080 10.200.0.1 10.200.0.2", "10.96.1.1:80->8080 10.200.1.1 10.200.1.2",
                                           "10.96.1.2:80->8080 10.200.2.1 10.200.2.2"));
    EXPECT_TRUE(world.proxy->in_step());
}

TEST(KernelspaceProxy, ALoadBalancerThatIsRefusedKeepsNoOtherBack) {
    World world;
    world.make_network();
    put_services(world, 3, 1);
    world.control(R"({"fail":[{"call":"HcnCreateLoadBalancer","hresult":"0x8000ffff","times":1}]})");
    world.loop.advance(1s);
    world.start();
    EXPECT_EQ(world.proxy->counts().failures, 1u);
    world.loop.advance(10s);
    EXPECT_EQ(world.rules().size(), 3u);
    EXPECT_EQ(world.proxy->counts().created, 6u);
}

}  // namespace
}  // namespace porthole::proxy::hns
