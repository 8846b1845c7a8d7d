#include "apiserver/bootstrap/endpoint_reconciler.h"

#include <gmock/gmock.h>

#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "store/etcd/etcd_store_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr const char *Ours = "/registry/masterleases/10.0.0.1", *Theirs = "/registry/masterleases/10.0.0.2";

/// An API server that answers when it is told to.
struct SlowApi final : client::Transport {
    explicit SlowApi(EventLoop& loop) : api(loop), loop_(loop) {}
    Task<client::ApiResponse> call(client::ApiRequest request) override {
        if (hangs) CO_TRY_VOID(co_await loop_.sleep(1h));
        co_return co_await api.call(std::move(request));
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api.watch(std::move(request)); }
    client::FakeApi api;
    bool hangs = false;

private:
    EventLoop& loop_;
};

struct EndpointReconcilerTest : store::etcd::EtcdStoreTest {
    EndpointReconcilerTest() { open(); }
    ~EndpointReconcilerTest() override { EXPECT_TRUE(sim::run(loop, scope.close())); }

    std::vector<std::string> published() {
        std::vector<std::string> addresses;
        const auto endpoints = api.api.find<api::core::v1::Endpoints>({"default", "kubernetes"});
        if (!endpoints) return addresses;
        for (const auto& subset : endpoints->subsets)
            for (const auto& address : subset.addresses) addresses.push_back(address.ip);
        return addresses;
    }

    SlowApi api{loop};
    client::Client client{api};
    Scope scope{loop};
};

// API-14
TEST_F(EndpointReconcilerTest, AnApiThatDoesNotAnswerDoesNotEndTheLease) {
    EndpointReconciler reconciler({loop, dynamic_cast<store::SharedStore&>(*store), client, Logger(make_null_sink(), "endpoints")},
                                  "10.0.0.1", 6443);
    scope.spawn(reconciler.run());
    loop.advance(1s);
    EXPECT_THAT(published(), ElementsAre("10.0.0.1"));
    api.hangs = true;
    ASSERT_TRUE(put(Theirs, "x"));
    for (int seconds = 0; seconds < 60; ++seconds) {
        loop.advance(1s);
        ASSERT_NE(here(Ours), "(absent)") << "after " << seconds << " s";
    }
    api.hangs = false;
    loop.advance(11s);
    EXPECT_THAT(published(), ElementsAre("10.0.0.1", "10.0.0.2"));
    EXPECT_TRUE(sim::run(loop, scope.close()));
}

// API-14
TEST_F(EndpointReconcilerTest, PublishesNothingThatIsOlderThanWhatAnotherServerHasWritten) {
    EndpointReconciler reconciler({loop, dynamic_cast<store::SharedStore&>(*store), client, Logger(make_null_sink(), "endpoints")},
                                  "10.0.0.1", 6443);
    etcd.hold_watches(true);
    put_there(Theirs, "x");
    scope.spawn(reconciler.run());
    loop.advance(2s);
    EXPECT_THAT(published(), testing::IsEmpty());
    etcd.hold_watches(false);
    loop.advance(10s);
    EXPECT_THAT(published(), ElementsAre("10.0.0.1", "10.0.0.2"));
    EXPECT_TRUE(sim::run(loop, scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
