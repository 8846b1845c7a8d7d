#include "kubelet/devices/claim_preparer.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/plugins/fake_plugin_fixture.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "runtime/run_task.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using namespace api::resource::v1;
using api::core::v1::Pod;
using testing::FakePlugin;
using Calls = std::vector<std::string>;

/// A node with the driver gpu.example.com, which listens on a real socket.
struct ClaimPreparerTest : ::testing::Test {
    ClaimPreparerTest() {
        start();
        add_driver();
    }
    ~ClaimPreparerTest() override {
        EXPECT_TRUE(run(drivers->remove_plugin(plugin_info())));
        EXPECT_TRUE(run(gpu.close()));
    }
    void start() {
        drivers = std::make_unique<DriverPlugins>(loop, client, *connector, log, "n1");
        preparer = std::make_unique<ClaimPreparer>(client, *folder.files, *drivers, log, folder.path + "/state");
    }
    void restart() {
        EXPECT_TRUE(run(drivers->remove_plugin(plugin_info())));
        start();
    }
    PluginInfo plugin_info(std::vector<std::string> versions = {"v1.DRAPlugin"}) const {
        return {"DRAPlugin", "gpu.example.com", folder.path + "/gpu.sock", std::move(versions), folder.path + "/gpu.sock"};
    }
    void add_driver() { EXPECT_TRUE(run(drivers->add_plugin(plugin_info()))); }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }

    /// A claim that is allocated and reserved for the pods with these uids.
    void put_claim(const std::string& name, std::vector<std::string> pods, const std::string& driver = "gpu.example.com") {
        ResourceClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        auto& result = claim.status.allocation.emplace().devices.results.emplace_back();
        result.request = "r0";
        result.driver = driver;
        result.pool = "pool";
        result.device = "d0";
        for (const std::string& pod : pods) claim.status.reserved_for.push_back({.resource = "pods", .name = pod, .uid = pod});
        api.put(claim);
    }
    static std::shared_ptr<const Pod> pod(const std::string& name, const std::vector<std::string>& claims,
                                          const std::string& request = "") {
        auto made = std::make_shared<Pod>();
        made->metadata.namespace_ = "ns";
        made->metadata.name = made->metadata.uid = name;
        auto& container = made->spec.containers.emplace_back();
        container.name = "c";
        for (const std::string& claim : claims) {
            auto& entry = made->spec.resource_claims.emplace_back();
            entry.name = "entry-" + claim;
            entry.resource_claim_name = claim;
            container.resources.claims.push_back({.name = entry.name, .request = request});
        }
        return made;
    }
    std::string prepare(const std::shared_ptr<const Pod>& which) {
        const auto prepared = run(preparer->prepare(which));
        return prepared ? "" : prepared.error().message;
    }
    std::string unprepare(const std::string& uid) {
        const auto released = run(preparer->unprepare(uid));
        return released ? "" : released.error().message;
    }

    AsioLoop loop;
    testing::TemporaryFolder folder{"devices"};
    client::FakeApi api{loop};
    client::Client client{api};
    Logger log{make_null_sink(), "devices"};
    std::unique_ptr<PluginConnector> connector = make_plugin_connector(loop);
    FakePlugin gpu{loop, folder.path + "/gpu.sock", "gpu.example.com"};
    std::unique_ptr<DriverPlugins> drivers;
    std::unique_ptr<ClaimPreparer> preparer;
};

TEST_F(ClaimPreparerTest, AClaimThatManyEntriesNameIsReadOnce) {
    put_claim("one", {"p"});
    Pod many = *pod("p", {"one"});
    for (int i = 0; i < 1000; ++i) {
        auto& entry = many.spec.resource_claims.emplace_back();
        entry.name = "entry-" + std::to_string(i);
        entry.resource_claim_name = "one";
    }
    api.clear_requests();
    EXPECT_EQ(prepare(std::make_shared<const Pod>(std::move(many))), "");
    EXPECT_EQ(api.requests().size(), 1u);
    EXPECT_EQ(unprepare("p"), "");
}

TEST_F(ClaimPreparerTest, PreparesTheClaimsOfAPodOnceAndReleasesThem) {
    put_claim("one", {"p"});
    put_claim("two", {"p"});
    gpu.devices = 2;
    const auto both = pod("p", {"one", "two"});
    EXPECT_EQ(prepare(both), "");
    EXPECT_EQ(prepare(both), "");
    EXPECT_EQ(gpu.calls.size(), 2u) << "a prepared claim is left alone";
    EXPECT_EQ(preparer->cdi_ids(*both).at("c"), (Calls{"gpu.example.com/device=one-0", "gpu.example.com/device=one-1",
                                                       "gpu.example.com/device=two-0", "gpu.example.com/device=two-1"}));
    const auto first = pod("p", {"one"}, "r1");
    EXPECT_EQ(preparer->cdi_ids(*first).at("c"), Calls{"gpu.example.com/device=one-1"});
    gpu.calls.clear();
    EXPECT_EQ(unprepare("p"), "");
    EXPECT_EQ(gpu.calls.size(), 2u);
    EXPECT_TRUE(preparer->claims().empty());
}

TEST_F(ClaimPreparerTest, PreparesTheClaimForExtendedResources) {
    put_claim("extra", {"p"});
    gpu.devices = 2;
    auto which = std::make_shared<Pod>(*pod("p", {}));
    auto& container = which->spec.containers[0];
    container.resources.requests["example.com/gpu"] = Quantity::from_value(1);
    auto& status = which->status.extended_resource_claim_status.emplace();
    status.resource_claim_name = "extra";
    status.request_mappings = {{.container_name = "c", .resource_name = "example.com/gpu", .request_name = "r1"},
                               {.container_name = "other", .resource_name = "example.com/gpu", .request_name = "r0"}};
    EXPECT_EQ(prepare(which), "ResourceClaim ns/extra was not created for pod ns/p (pod is not owner)");
    api.change<ResourceClaim>({"ns", "extra"}, [](ResourceClaim& claim) {
        claim.metadata.owner_references = {{.api_version = "v1", .kind = "Pod", .name = "p", .uid = "p", .controller = true}};
    });
    EXPECT_EQ(prepare(which), "");
    EXPECT_EQ(prepare(which), "");
    EXPECT_EQ(gpu.calls, Calls{"prepare extra (v1)"});
    EXPECT_EQ(preparer->cdi_ids(*which).at("c"), Calls{"gpu.example.com/device=extra-1"}) << "the device of its request";
    EXPECT_EQ(unprepare("p"), "");
    EXPECT_EQ(gpu.calls.back(), "unprepare extra");
}

TEST_F(ClaimPreparerTest, ManyEntriesOfManyContainersTakeLinearTime) {
    constexpr int Many = 10'000;
    put_claim("c", {"p"});
    auto many = std::make_shared<Pod>(*pod("p", {"c"}));
    for (int i = 0; i < Many; ++i) {
        const std::string number = std::to_string(i);
        many->spec.resource_claims.emplace_back() = {.name = "e" + number, .resource_claim_name = "c"};
        auto& container = many->spec.containers.emplace_back();
        container.name = "c" + number;
        container.resources.claims = {{.name = "e" + number}};
        // Of a template, as the controller names them.
        many->spec.resource_claims.emplace_back() = {.name = "t" + number, .resource_claim_template_name = "t"};
        many->status.resource_claim_statuses.emplace_back() = {.name = "t" + number, .resource_claim_name = ""};
    }
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    EXPECT_EQ(prepare(many), "");
    EXPECT_EQ(gpu.calls, Calls{"prepare c (v1)"});
    EXPECT_EQ(preparer->cdi_ids(*many).size(), Many + 1u);
}

TEST_F(ClaimPreparerTest, ReleasesASharedClaimWithItsLastPod) {
    put_claim("shared", {"p", "q"});
    EXPECT_EQ(prepare(pod("p", {"shared"})), "");
    EXPECT_EQ(prepare(pod("q", {"shared"})), "");
    EXPECT_EQ(unprepare("p"), "");
    EXPECT_EQ(gpu.calls, Calls{"prepare shared (v1)"});
    EXPECT_EQ(unprepare("q"), "");
    EXPECT_EQ(gpu.calls, (Calls{"prepare shared (v1)", "unprepare shared"}));
}

TEST_F(ClaimPreparerTest, SaysWhyAClaimIsNotPrepared) {
    put_claim("c", {"p"});
    EXPECT_EQ(prepare(pod("q", {"c"})),
              "pod q (q) is not allowed to use ResourceClaim c (" + api.find<ResourceClaim>({"ns", "c"})->metadata.uid + ")");
    put_claim("nic", {"p"}, "nic.example.com");
    EXPECT_EQ(prepare(pod("p", {"nic"})), "DRA driver nic.example.com is not registered");
    EXPECT_TRUE(preparer->claims().empty()) << "such a pod can end without the driver";
    gpu.failure = "out of order";
    EXPECT_EQ(prepare(pod("p", {"c"})), "NodePrepareResources failed for ResourceClaim c: out of order");
    EXPECT_EQ(preparer->claims().size(), 1u) << "the driver may have done half of it";
    gpu.failure = "";
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    gpu.failure = "busy";
    EXPECT_EQ(unprepare("p"), "NodeUnprepareResources failed for ResourceClaim c: busy");
    gpu.failure = "";
    EXPECT_EQ(unprepare("p"), "");
}

TEST_F(ClaimPreparerTest, RemembersWhatIsPreparedOverARestart) {
    put_claim("c", {"p"});
    const auto user = pod("p", {"c"});
    EXPECT_EQ(prepare(user), "");
    restart();
    EXPECT_EQ(preparer->cdi_ids(*user).at("c"), Calls{"gpu.example.com/device=c-0"});
    add_driver();
    EXPECT_EQ(prepare(user), "");
    EXPECT_EQ(gpu.calls, (Calls{"prepare c (v1)", "prepare c (v1)"})) << "what a driver prepared is gone after a reboot";
    restart();
    EXPECT_TRUE(run(preparer->unprepare_stale([](const std::string&) { return true; })));
    EXPECT_EQ(preparer->claims().size(), 1u);
    EXPECT_TRUE(run(preparer->unprepare_stale([](const std::string&) { return false; })));
    EXPECT_EQ(preparer->claims().size(), 1u) << "the driver is not back yet";
    add_driver();
    EXPECT_TRUE(run(preparer->unprepare_stale([](const std::string&) { return false; })));
    EXPECT_TRUE(preparer->claims().empty());
    EXPECT_EQ(gpu.calls.back(), "unprepare c");
}

TEST_F(ClaimPreparerTest, KeepsACheckpointThatItCannotRead) {
    put_claim("c", {"p"});
    ASSERT_TRUE(folder.files->write(folder.path + "/state", "{", 0600));
    restart();
    add_driver();
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    EXPECT_EQ(folder.files->read(folder.path + "/state.unreadable").value(), "{");
    // Not a file at all: it cannot even be read.
    ASSERT_TRUE(folder.files->remove(folder.path + "/state"));
    ASSERT_TRUE(folder.files->remove(folder.path + "/state.unreadable"));
    ASSERT_TRUE(folder.files->create_directories(folder.path + "/state/kept", 0700));
    restart();
    add_driver();
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    EXPECT_TRUE(folder.files->exists(folder.path + "/state.unreadable/kept"));
}

TEST_F(ClaimPreparerTest, AsksNoDriverAndNotesNothingWhereTheCheckpointCannotBeWritten) {
    put_claim("c", {"p"});
    ASSERT_TRUE(folder.files->create_directories(folder.path + "/state/in-the-way", 0700));
    EXPECT_NE(prepare(pod("p", {"c"})), "");
    EXPECT_TRUE(gpu.calls.empty());
    EXPECT_TRUE(preparer->claims().empty()) << "such a pod can end without the driver";
}

TEST_F(ClaimPreparerTest, DoesNotMixANewClaimWithAnOldOneOfItsName) {
    put_claim("c", {"p"});
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    const std::string old_uid = api.find<ResourceClaim>({"ns", "c"})->metadata.uid;
    api.erase<ResourceClaim>({"ns", "c"});
    put_claim("c", {"q"});
    EXPECT_EQ(prepare(pod("q", {"c"})),
              "old ResourceClaim with same name c and different UID " + old_uid + " still exists (previous pod force-deleted?!)");
    EXPECT_EQ(unprepare("p"), "");
    EXPECT_EQ(prepare(pod("q", {"c"})), "");
}

TEST_F(ClaimPreparerTest, SpeaksTheOlderVersionToOlderDrivers) {
    FakePlugin old(loop, folder.path + "/old.sock", "old.example.com", {"v1beta1.DRAPlugin"});
    const PluginInfo info{"DRAPlugin", "old.example.com", folder.path + "/old.sock", {"v1beta1.DRAPlugin"}, folder.path + "/old.sock"};
    ASSERT_TRUE(run(drivers->add_plugin(info)));
    put_claim("c", {"p"}, "old.example.com");
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    EXPECT_EQ(old.calls, Calls{"prepare c (v1beta1)"});
    EXPECT_TRUE(run(drivers->remove_plugin(info)));
    EXPECT_TRUE(run(old.close()));
    const auto refused = run(drivers->add_plugin(plugin_info({"v9.DRAPlugin"})));
    EXPECT_EQ(refused.error().message, "invalid versions of plugin gpu.example.com: none of the supported gRPC services found");
}

TEST_F(ClaimPreparerTest, ADriverThatRegistersTwiceTakesItsOwnPlace) {
    put_claim("c", {"p"});
    EXPECT_EQ(prepare(pod("p", {"c"})), "");
    add_driver();
    EXPECT_EQ(unprepare("p"), "");
    EXPECT_EQ(gpu.calls, (Calls{"prepare c (v1)", "unprepare c"}));
    EXPECT_TRUE(run(drivers->remove_plugin(plugin_info())));
    EXPECT_EQ(prepare(pod("p", {"c"})), "DRA driver gpu.example.com is not registered");
}

TEST_F(ClaimPreparerTest, RefusesMoreDevicesThanAClaimCanHave) {
    put_claim("c", {"p"});
    gpu.devices = 1025;
    EXPECT_EQ(prepare(pod("p", {"c"})), "NodePrepareResources returned too many devices");
}

}  // namespace
}  // namespace porthole::kubelet
