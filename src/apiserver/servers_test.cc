// Several API servers on one etcd.
#include <gtest/gtest.h>

#include "api/coordination_v1.h"
#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/example_options.h"
#include "apiserver/resources/leader_fence.h"
#include "runtime/sim/sim_loop.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/sim/etcd_model.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using api::coordination::v1::Lease;
using api::core::v1::ConfigMap;
using api::core::v1::Endpoints;
using api::discovery::v1::EndpointSlice;
using client::NamespacedName;

const NamespacedName Leadership{"kube-system", "kube-scheduler"}, Kubernetes{"default", "kubernetes"};

struct ServersTest : testing::Test {
    struct Instance {
        std::unique_ptr<ApiServer> api;
        std::unique_ptr<LocalTransport> transport;
        std::optional<client::Client> client;
    };
    /// Goes on while the test does something else.
    template <class T>
    struct Pending {
        Pending(sim::SimLoop& loop, Task<T> task) : context(loop) {
            start_task(std::move(task), context, [this](Result<T> value) { result.emplace(std::move(value)); });
        }
        TaskContext context;
        std::optional<Result<T>> result;
    };

    ~ServersTest() override {
        for (Instance* instance : {&a, &b}) close(*instance);
        EXPECT_TRUE(sim::run(loop, etcd.close()));
        loop.run_ready();
    }
    void open(Instance& instance, const std::string& address) {
        const auto encryption =
            std::make_shared<StorageEncryption>([](const EncryptionProvider&) { return std::shared_ptr<StorageCipher>(); });
        const auto open_store = [this, encryption](store::AttributesOf attributes_of) {
            return store::etcd::open_etcd_store({loop, pool, log}, etcd.members(), make_etcd_form(encryption, "/registry"),
                                                std::move(attributes_of), {.compact_every = {}});
        };
        ApiServerOptions chosen = options;
        chosen.bootstrap.advertise_address = address;
        auto opened = sim::run(loop, ApiServer::open({loop, pool, random, log}, open_store, std::move(chosen)));
        ASSERT_TRUE(opened) << opened.error().message;
        instance.api = std::move(*opened);
        const auto started = sim::run(loop, instance.api->start());
        ASSERT_TRUE(started) << started.error().message;
        instance.transport = instance.api->transport(loopback_user(), "test");
        instance.client.emplace(*instance.transport);
    }
    void close(Instance& instance) {
        if (!instance.api) return;
        EXPECT_TRUE(sim::run(loop, instance.transport->close()));
        EXPECT_TRUE(sim::run(loop, instance.api->close()));
        instance.client.reset();
        instance.transport.reset();
        instance.api.reset();
    }
    void open_both() {
        open(b, "10.0.0.2");
        open(a, "10.0.0.1");
        loop.advance(2s);
    }
    /// What b does not see until etcd's connections are cut: its next watch delivers.
    void open_with_b_behind() {
        open(b, "10.0.0.2");
        etcd.silence_watches();
        open(a, "10.0.0.1");
    }
    static ConfigMap config_map(const std::string& name) {
        ConfigMap map;
        map.metadata.name = name;
        map.metadata.namespace_ = "default";
        return map;
    }
    template <class T>
    T done(Task<T> task) {
        auto result = sim::run(loop, std::move(task));
        EXPECT_TRUE(result) << result.error().message;
        return result ? std::move(*result) : T();
    }
    std::vector<std::string> names(const client::ObjectList<ConfigMap>& list) {
        std::vector<std::string> names;
        for (const ConfigMap& map : list.items)
            if (map.metadata.namespace_ == "default") names.push_back(map.metadata.name);
        return names;
    }
    /// Has the Lease name a holder, by a server.
    void give_lease(Instance& by, const std::string& holder) {
        auto lease = sim::run(loop, by.client->get<Lease>(Leadership));
        Lease wanted = lease ? *lease : Lease();
        wanted.metadata.namespace_ = Leadership.namespace_;
        wanted.metadata.name = Leadership.name;
        wanted.spec.holder_identity = holder;
        wanted.spec.lease_transitions = wanted.spec.lease_transitions.value_or(0) + 1;
        const auto written = sim::run(loop, lease ? by.client->update(wanted) : by.client->create(wanted));
        ASSERT_TRUE(written) << written.error().message;
    }
    std::vector<std::string> endpoints(Instance& by) {
        const auto stored = sim::run(loop, by.client->get<Endpoints>(Kubernetes));
        const auto slice = sim::run(loop, by.client->get<EndpointSlice>(Kubernetes));
        std::vector<std::string> addresses, of_slice;
        if (stored && !stored->subsets.empty())
            for (const auto& address : stored->subsets[0].addresses) addresses.push_back(address.ip);
        if (slice)
            for (const auto& endpoint : slice->endpoints) of_slice.push_back(endpoint.addresses.at(0));
        EXPECT_EQ(addresses, of_slice);
        return addresses;
    }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    SeededRandom random{7};
    Logger log{make_null_sink(), "test"};
    store::etcd::EtcdModel etcd{loop, 1, 1};
    ApiServerOptions options = example_options();
    Instance a, b;
};

using Names = std::vector<std::string>;

TEST_F(ServersTest, AListOfTheNewestHasWhatAnotherServerHasAcknowledged) {
    open_with_b_behind();
    done(a.client->create(config_map("made")));
    EXPECT_EQ(names(done(b.client->list<ConfigMap>({.resource_version = "0"}))), Names()) << "what it has, at once";
    Pending listing(loop, b.client->list<ConfigMap>());
    Pending getting(loop, b.client->get<ConfigMap>({"default", "made"}));
    loop.advance(500ms);
    EXPECT_FALSE(listing.result || getting.result);
    etcd.cut();
    loop.advance(2s);
    ASSERT_TRUE(listing.result && getting.result);
    ASSERT_TRUE(*listing.result) << listing.result->error().message;
    EXPECT_EQ(names(**listing.result), Names{"made"});
    EXPECT_TRUE(*getting.result);
}

TEST_F(ServersTest, WhatDoesNotArriveIsATimeoutWithACauseThatClientsKnow) {
    open(a, "10.0.0.1");
    etcd.hold_watches(true);
    etcd.put("/registry/configmaps/default/theirs", "{}");
    const auto listed = sim::run(loop, a.client->list<ConfigMap>(), 20s);
    etcd.hold_watches(false);
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().reason, Reason::Timeout);
    ASSERT_FALSE(listed.error().details->causes.empty());
    EXPECT_EQ(listed.error().details->causes.front().type, "ResourceVersionTooLarge");
}

TEST_F(ServersTest, AWriteStartsFromWhatAnotherServerHasAcknowledged) {
    open_with_b_behind();
    done(a.client->create(config_map("changed")));
    done(a.client->create(config_map("deleted")));
    done(a.client->create(config_map("kept")));
    Pending patching(loop, b.client->patch<ConfigMap>({"default", "changed"}, client::PatchType::Merge, R"({"data":{"a":"b"}})"));
    Pending deleting(loop, b.client->remove<ConfigMap>({"default", "deleted"}));
    Pending creating(loop, b.client->create(config_map("kept")));
    loop.advance(500ms);
    etcd.cut();
    loop.advance(2s);
    ASSERT_TRUE(patching.result && deleting.result && creating.result);
    EXPECT_TRUE(*patching.result) << patching.result->error().message;
    EXPECT_TRUE(*deleting.result) << deleting.result->error().message;
    EXPECT_EQ(creating.result->error().reason, Reason::AlreadyExists);
    EXPECT_EQ(done(a.client->get<ConfigMap>({"default", "changed"})).data.at("a"), "b");
}

TEST_F(ServersTest, TheNextPageMayBeAnotherServers) {
    open_with_b_behind();
    for (const char* name : {"m1", "m2", "m3"}) done(a.client->create(config_map(name)));
    const auto page = done(a.client->list<ConfigMap>({.namespace_ = "default", .limit = 2}));
    Pending listing(loop, b.client->list<ConfigMap>({.namespace_ = "default", .limit = 2, .continue_ = page.continue_}));
    loop.advance(500ms);
    EXPECT_FALSE(listing.result);
    etcd.cut();
    loop.advance(2s);
    ASSERT_TRUE(listing.result && *listing.result) << listing.result->error().message;
    EXPECT_EQ(names(**listing.result), Names{"m3"});
}

// Who leads

struct FencedTest : ServersTest {
    std::unique_ptr<LocalTransport> transport;
    std::optional<client::Client> scheduler;  ///< a component of a's, which believes that it leads
    Event arrives;
    bool is_held = false;

    ~FencedTest() override { EXPECT_TRUE(!transport || sim::run(loop, transport->close())); }
    void open_leader() {
        transport = a.api->transport(loopback_user(), "kube-scheduler",
                                     std::make_shared<const LeaderFence>(Leadership.namespace_, Leadership.name, "a"));
        scheduler.emplace(*transport);
        give_lease(a, "a");
    }
    /// The next Txn reaches etcd when `arrives` is set; those after it are not held.
    void hold_next_txn() {
        etcd.before_txn = [&]() -> Task<> {
            if (!std::exchange(is_held, true)) co_return co_await arrives.wait();
            co_return {};
        };
    }
    static bool refused(const Result<ConfigMap>& written) {
        return !written && written.error().reason == Reason::ServiceUnavailable &&
               written.error().message == "a is no longer the leader: nothing was done";
    }
};

TEST_F(FencedTest, TheLeaderWritesAndOneThatWasDeposedDoesNot) {
    open_both();
    open_leader();
    done(scheduler->create(config_map("first")));
    give_lease(b, "b");
    loop.advance(1s);
    EXPECT_TRUE(refused(sim::run(loop, scheduler->create(config_map("second")))));
    EXPECT_TRUE(
        refused(sim::run(loop, scheduler->patch<ConfigMap>({"default", "first"}, client::PatchType::Merge, R"({"data":{"a":"b"}})"))));
    EXPECT_EQ(sim::run(loop, scheduler->remove<ConfigMap>({"default", "first"})).error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(names(done(a.client->list<ConfigMap>())), Names{"first"});
    done(a.client->create(config_map("by-a-user")));
}

TEST_F(FencedTest, OneThatDoesNotKnowYetIsRefusedByTheStore) {
    open(a, "10.0.0.1");
    open_leader();
    etcd.silence_watches();
    open(b, "10.0.0.2");
    give_lease(b, "b");
    Pending writing(loop, scheduler->create(config_map("late")));
    loop.advance(1s);
    EXPECT_FALSE(writing.result) << "what refused it has not arrived";
    etcd.cut();
    loop.advance(2s);
    ASSERT_TRUE(writing.result);
    EXPECT_TRUE(refused(*writing.result));
    EXPECT_EQ(etcd.value("/registry/configmaps/default/late"), "");
}

TEST_F(FencedTest, AWriteThatIsOnItsWayWhenTheLeaseIsLostIsRefused) {
    open_both();
    open_leader();
    hold_next_txn();
    Pending writing(loop, scheduler->create(config_map("late")));
    loop.run_ready();
    ASSERT_TRUE(is_held);
    give_lease(b, "b");
    arrives.set();
    loop.advance(1s);
    ASSERT_TRUE(writing.result);
    EXPECT_TRUE(refused(*writing.result));
    EXPECT_EQ(etcd.value("/registry/configmaps/default/late"), "");
}

TEST_F(FencedTest, AWriteThatARenewalOvertakesIsSentAgain) {
    open_both();
    open_leader();
    hold_next_txn();
    Pending writing(loop, scheduler->create(config_map("late")));
    loop.run_ready();
    ASSERT_TRUE(is_held);
    give_lease(a, "a");
    arrives.set();
    loop.advance(1s);
    ASSERT_TRUE(writing.result);
    EXPECT_TRUE(*writing.result) << writing.result->error().message;
}

// Where the service "kubernetes" leads

TEST_F(ServersTest, EndpointsNameTheServersThatLive) {
    open_both();
    EXPECT_EQ(endpoints(a), (Names{"10.0.0.1", "10.0.0.2"}));
    loop.advance(1min);
    EXPECT_EQ(endpoints(b), (Names{"10.0.0.1", "10.0.0.2"})) << "their leases are kept alive";
    ASSERT_TRUE(sim::run(loop, b.api->withdraw()));
    EXPECT_EQ(endpoints(a), Names{"10.0.0.1"});
    loop.advance(1min);
    EXPECT_EQ(endpoints(a), Names{"10.0.0.1"}) << "it does not come back";
}

TEST_F(ServersTest, TheEndpointOfADeadServerGoesWithItsLease) {
    open_both();
    close(b);  // without withdraw(): as far as others can tell it was killed
    loop.advance(5s);
    EXPECT_EQ(endpoints(a), (Names{"10.0.0.1", "10.0.0.2"}));
    loop.advance(11s);
    EXPECT_EQ(endpoints(a), Names{"10.0.0.1"});
}

TEST_F(ServersTest, TheLastServerLeavesItsEndpoint) {
    open(a, "10.0.0.1");
    loop.advance(1s);
    ASSERT_TRUE(sim::run(loop, a.api->withdraw()));
    EXPECT_EQ(endpoints(a), Names{"10.0.0.1"});
    EXPECT_EQ(etcd.value("/registry/masterleases/10.0.0.1"), "");
}

TEST_F(ServersTest, UpstreamsServersAreCountedByTheirKeys) {
    open(a, "10.0.0.1");
    etcd.put("/registry/masterleases/10.0.0.9", std::string("k8s\0\n\x0f", 6));
    etcd.put("/registry/masterleases/nonsense", "");
    loop.advance(1s);
    EXPECT_EQ(endpoints(a), (Names{"10.0.0.1", "10.0.0.9"}));
    EXPECT_EQ(etcd.value("/registry/masterleases/10.0.0.1"),
              R"({"kind":"Endpoints","apiVersion":"v1","metadata":{},"subsets":[{"addresses":[{"ip":"10.0.0.1"}]}]})");
}

TEST_F(ServersTest, WhoeverKeepsTheEndpointsIsLeftAlone) {
    options.reconcile_endpoints = false;
    open(a, "10.0.0.1");
    loop.advance(10s);
    EXPECT_EQ(endpoints(a), Names());
}

TEST_F(ServersTest, ACreateWhoseOutcomeIsUnknownIsNotToldThatItsOwnObjectExists) {
    open(a, "10.0.0.1");
    loop.advance(2s);
    etcd.break_next_txn(store::etcd::EtcdModel::Break::After);
    const auto created = sim::run(loop, a.client->create(config_map("made")));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().reason, Reason::Timeout) << created.error().message;
    EXPECT_EQ(names(done(a.client->list<ConfigMap>())), Names{"made"});
}

}  // namespace
}  // namespace porthole::apiserver
