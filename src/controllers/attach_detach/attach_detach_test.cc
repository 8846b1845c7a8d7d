#include "controllers/attach_detach/attach_detach.h"

#include <algorithm>
#include <sstream>

#include "controllers/framework/sim/sim_world.h"
#include "objects/csi_volume.h"
#include "objects/owners.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;
using api::storage::v1::CSIDriver;
using api::storage::v1::VolumeAttachment;

constexpr const char* Driver = "csi.example.com";

/// Nodes "n1" and "n2", and an external attacher that does what it is asked as soon as the test calls attacher().
struct AttachDetachTest : SimWorld {
    AttachDetachTest() {
        put_node("n1");
        put_node("n2");
    }
    void put_node(const std::string& name) {
        Node node;
        node.metadata.name = name;
        node.metadata.annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true";
        node.status.conditions.push_back({.type = "Ready", .status = "True"});
        api.put(node);
    }
    /// Claim ns/<name>, bound to the volume "pv-<name>" whose handle is "h-<name>".
    void put_claim(const std::string& name, const std::string& mode = "ReadWriteOnce") {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        claim.spec.volume_name = "pv-" + name;
        claim.status.phase = "Bound";
        const auto stored = api.put(claim);
        PersistentVolume volume;
        volume.metadata.name = "pv-" + name;
        volume.spec.access_modes = {mode};
        volume.spec.claim_ref = objects::object_reference(stored);
        volume.spec.csi.emplace() = {.driver = Driver, .volume_handle = "h-" + name};
        api.put(volume);
    }
    void put_pod(const std::string& name, const std::string& node, const std::string& claim = "c") {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.spec.node_name = node;
        auto& volume = pod.spec.volumes.emplace_back();
        volume.name = "data";
        volume.persistent_volume_claim.emplace().claim_name = claim;
        pod.status.phase = "Running";
        api.put(pod);
    }
    void erase_pod(const std::string& name) { api.erase<Pod>({"ns", name}); }
    static std::string attachment_of(const std::string& claim, const std::string& node) {
        return objects::attachment_name(Driver, "h-" + claim, node);
    }
    std::optional<VolumeAttachment> attachment(const std::string& node, const std::string& claim = "c") {
        return api.find<VolumeAttachment>({"", attachment_of(claim, node)});
    }
    /// Attaches what is to be attached, and lets go what is to be detached.
    void attacher() {
        for (const auto& one : api.list<VolumeAttachment>()) {
            if (one.metadata.deletion_timestamp)
                api.erase<VolumeAttachment>({"", one.metadata.name});
            else
                api.change<VolumeAttachment>({"", one.metadata.name}, [](VolumeAttachment& now) {
                    now.status.attached = true;
                    now.metadata.finalizers = {"external-attacher/csi-example-com"};
                });
        }
        pass(1s);
    }
    std::vector<std::string> shown(const std::string& node) {
        std::vector<std::string> names;
        for (const auto& attached : api.find<Node>({"", node})->status.volumes_attached) names.push_back(attached.name);
        return names;
    }
    void set_in_use(const std::string& node, std::vector<std::string> volumes) {
        api.change<Node>({"", node}, [&](Node& now) { now.status.volumes_in_use = volumes; });
        pass(1s);
    }
    void set_ready(const std::string& node, const std::string& status) {
        api.change<Node>({"", node}, [&](Node& now) { now.status.conditions[0].status = status; });
        pass(1s);
    }
    /// The claim "c" is attached to n1 and mounted there.
    void mount_on_n1() {
        put_claim("c");
        put_pod("p", "n1");
        run<AttachDetachController>();
        pass(1s);
        attacher();
        set_in_use("n1", {Volume});
    }
    std::size_t count_of(const std::string& text) {
        return static_cast<std::size_t>(std::ranges::count_if(events(), [&](const auto& event) { return event.contains(text); }));
    }
    /// What the controller's metrics say of `name`.
    using Lines = std::vector<std::string>;
    /// Pod p with claim c on n1, and q with d on n2.
    void put_pods_on_two_nodes() {
        put_claim("c");
        put_claim("d");
        put_pod("p", "n1");
        put_pod("q", "n2", "d");
    }
    static Lines metrics(const AttachDetachController& controller, const std::string& name) {
        std::string text, line;
        controller.append_metrics(text);
        std::vector<std::string> lines;
        for (std::istringstream in(text); std::getline(in, line);)
            if (line.starts_with(name + "{")) lines.push_back(line.substr(name.size()));
        return lines;
    }
    const std::string Volume = objects::unique_volume_name(Driver, "h-c");
};

TEST_F(AttachDetachTest, AttachesTheVolumesOfAPodToItsNode) {
    put_claim("c");
    put_pod("p", "n1");
    run<AttachDetachController>();
    pass(1s);
    const auto asked = attachment("n1");
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->spec.attacher, Driver);
    EXPECT_EQ(asked->spec.node_name, "n1");
    EXPECT_EQ(asked->spec.source.persistent_volume_name, "pv-c");
    EXPECT_TRUE(shown("n1").empty()) << "the attacher has not done it yet";
    EXPECT_EQ(count_of("AttachVolume"), 0u);
    attacher();
    EXPECT_EQ(shown("n1"), std::vector{Volume});
    EXPECT_TRUE(has_event("SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume \"pv-c\" "));
    pass(10min);
    EXPECT_EQ(count_of("AttachVolume"), 1u);
}

TEST_F(AttachDetachTest, LeavesAloneWhatNeedsNoAttaching) {
    CSIDriver driver;
    driver.metadata.name = Driver;
    driver.spec.attach_required = false;
    api.put(driver);
    put_claim("c");
    put_pod("p", "n1");
    Node unmanaged;
    unmanaged.metadata.name = "n3";
    api.put(unmanaged);
    run<AttachDetachController>();
    pass(1s);
    EXPECT_FALSE(attachment("n1"));
    api.erase<CSIDriver>({"", Driver});
    pass(1s);
    EXPECT_TRUE(attachment("n1")) << "without a CSIDriver volumes are attached";
    put_claim("d");
    put_pod("q", "n3", "d");
    pass(1s);
    EXPECT_FALSE(attachment("n3", "d")) << "its kubelet attaches";
}

TEST_F(AttachDetachTest, WaitsUntilTheClaimIsBound) {
    put_claim("c");
    api.change<PersistentVolumeClaim>({"ns", "c"}, [](auto& claim) { claim.status.phase = "Pending"; });
    put_pod("p", "n1");
    run<AttachDetachController>();
    pass(1s);
    EXPECT_FALSE(attachment("n1"));
    api.change<PersistentVolumeClaim>({"ns", "c"}, [](auto& claim) { claim.status.phase = "Bound"; });
    pass(1s);
    EXPECT_TRUE(attachment("n1"));
}

TEST_F(AttachDetachTest, DetachesWhenTheNodeNoLongerUsesTheVolume) {
    mount_on_n1();
    erase_pod("p");
    pass(10min);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp) << "a healthy node may take its time";
    EXPECT_EQ(shown("n1"), std::vector{Volume});
    api.clear_requests();
    set_in_use("n1", {});
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp);
    EXPECT_TRUE(shown("n1").empty());
    const auto at = [&](const char* method) {
        return std::ranges::find_if(api.requests(), [&](const auto& one) { return one.method == method && !one.path.contains("events"); });
    };
    EXPECT_LT(at("PATCH"), at("DELETE")) << "the node is told first";
    attacher();
    EXPECT_FALSE(attachment("n1"));
    EXPECT_EQ(count_of("FailedAttach"), 0u);
}

TEST_F(AttachDetachTest, AsksTheNodeOnceMoreBeforeItDetaches) {
    mount_on_n1();
    set_in_use("n1", {});
    bool asked = false;
    api.set_answer([&](const client::ApiRequest& request) -> std::optional<schema::Value> {  // newer than the cache
        if (request.method != "GET" || !request.path.ends_with("/nodes/n1")) return std::nullopt;
        asked = true;
        Node node = *api.find<Node>({"", "n1"});
        node.status.volumes_in_use = {Volume};
        return schema::to_value(node);
    });
    erase_pod("p");
    pass(1s);
    EXPECT_TRUE(asked);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp);
    EXPECT_TRUE(shown("n1").empty());
    api.set_answer({});
    pass(10s);
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp);
}

TEST_F(AttachDetachTest, TakesAVolumeFromAnUnhealthyNodeAfterSixMinutes) {
    mount_on_n1();
    set_ready("n1", "Unknown");
    erase_pod("p");
    put_pod("q", "n2");
    pass(6min - 5s);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp);
    EXPECT_TRUE(
        has_event("FailedAttachVolume: Multi-Attach error for volume \"pv-c\" Volume is already exclusively attached to one node and "
                  "can't be attached to another"));
    pass(10s);
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp);
    EXPECT_FALSE(attachment("n2"));
    attacher();
    EXPECT_TRUE(attachment("n2"));
}

TEST_F(AttachDetachTest, TakesAVolumeFromANodeOutOfServiceAtOnce) {
    mount_on_n1();
    set_ready("n1", "Unknown");
    erase_pod("p");
    pass(1s);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp);
    api.change<Node>({"", "n1"}, [](Node& node) {
        node.spec.taints.push_back({.key = "node.kubernetes.io/out-of-service", .value = "nodeshutdown", .effect = "NoExecute"});
    });
    pass(1s);
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp);
}

TEST_F(AttachDetachTest, MetricsCountVolumesAsUpstreams) {
    put_pods_on_two_nodes();
    put_pod("waits", "", "d");
    const auto& controller = run<AttachDetachController>();
    pass(1s);
    EXPECT_EQ(metrics(controller, "storage_count_attachable_volumes_in_use"),
              (Lines{R"({node="n1",volume_plugin="kubernetes.io/csi:csi.example.com"} 1)",
                     R"({node="n2",volume_plugin="kubernetes.io/csi:csi.example.com"} 1)"}));
    const std::string desired = R"({plugin_name="kubernetes.io/csi:csi.example.com",state="desired_state_of_world"} 2)";
    EXPECT_EQ(metrics(controller, "attachdetach_controller_total_volumes"), Lines{desired});
    attacher();
    EXPECT_EQ(metrics(controller, "attachdetach_controller_total_volumes"),
              (Lines{R"({plugin_name="kubernetes.io/csi:csi.example.com",state="actual_state_of_world"} 2)", desired}));
    EXPECT_TRUE(metrics(controller, "attach_detach_controller_attachdetach_controller_forced_detaches").empty());
}

TEST_F(AttachDetachTest, MetricsReadNoPodWithoutSuchVolumes) {
    put_pods_on_two_nodes();
    for (int i = 0; i < 30; ++i) {
        Pod plain;
        plain.metadata.namespace_ = "ns";
        plain.metadata.name = "plain-" + std::to_string(i);
        plain.spec.node_name = "n1";
        api.put(plain);
    }
    const auto& controller = run<AttachDetachController>();
    pass(1s);
    const auto before = shared_objects.times_unpacked();
    EXPECT_EQ(metrics(controller, "storage_count_attachable_volumes_in_use").size(), 2u);
    EXPECT_LE(shared_objects.times_unpacked() - before, 4u);
}

TEST_F(AttachDetachTest, MetricsCountDetachesByForceWithTheirReason) {
    put_pods_on_two_nodes();
    const auto& controller = run<AttachDetachController>();
    pass(1s);
    attacher();
    set_in_use("n1", {Volume});
    set_in_use("n2", {objects::unique_volume_name(Driver, "h-d")});
    for (const char* node : {"n1", "n2"}) set_ready(node, "Unknown");
    erase_pod("p");
    erase_pod("q");
    api.change<Node>({"", "n1"}, [](Node& node) {
        node.spec.taints.push_back({.key = "node.kubernetes.io/out-of-service", .value = "nodeshutdown", .effect = "NoExecute"});
    });
    pass(7min);
    EXPECT_EQ(metrics(controller, "attach_detach_controller_attachdetach_controller_forced_detaches"),
              (Lines{R"({reason="out-of-service"} 1)", R"({reason="timeout"} 1)"}));
}

TEST_F(AttachDetachTest, ANodeThatIsGoneKeepsWhatItHadMounted) {
    mount_on_n1();
    api.erase<Node>({"", "n1"});
    erase_pod("p");
    pass(5min);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp);
    pass(2min);
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp);
}

TEST_F(AttachDetachTest, AnExclusiveVolumeHasOneNode) {
    mount_on_n1();
    put_pod("q", "n2");
    pass(10min);
    EXPECT_FALSE(attachment("n2"));
    EXPECT_TRUE(has_event("FailedAttachVolume: Multi-Attach error for volume \"pv-c\" Volume is already used by pod(s) p"));
    EXPECT_EQ(count_of("Multi-Attach"), 1u);
    api.change<Pod>({"ns", "p"}, [](Pod& pod) { pod.status.phase = "Succeeded"; });
    pass(1s);
    EXPECT_FALSE(attachment("n2")) << "still mounted on n1";
    set_in_use("n1", {});
    attacher();
    EXPECT_FALSE(attachment("n1"));
    attacher();
    EXPECT_EQ(shown("n2"), std::vector{Volume});
}

TEST_F(AttachDetachTest, ASharedVolumeHasManyNodes) {
    put_claim("c", "ReadWriteMany");
    put_pod("p", "n1");
    put_pod("q", "n2");
    run<AttachDetachController>();
    pass(1s);
    attacher();
    EXPECT_EQ(shown("n1"), std::vector{Volume});
    EXPECT_EQ(shown("n2"), std::vector{Volume});
}

TEST_F(AttachDetachTest, TwoPodsThatComeTogetherDoNotGetTheSameVolume) {
    put_claim("c");
    put_pod("p", "n1");
    put_pod("q", "n2");
    run<AttachDetachController>();
    pass(1s);
    EXPECT_EQ((api.list<VolumeAttachment>().size()), 1u);
    EXPECT_EQ(count_of("Multi-Attach"), 0u) << "while the first is on its way";
    attacher();
    EXPECT_TRUE(has_event("FailedAttachVolume: Multi-Attach error for volume \"pv-c\" Volume is already used by pod(s) p"));
}

TEST_F(AttachDetachTest, TellsAPodThatCameWhileTheVolumeWentElsewhere) {
    put_claim("c");
    put_pod("p", "n2");
    run<AttachDetachController>();
    pass(1s);
    put_pod("q", "n1");
    pass(1s);
    EXPECT_EQ(count_of("Multi-Attach"), 0u);
    attacher();
    EXPECT_EQ(count_of("Multi-Attach"), 1u);
}

TEST_F(AttachDetachTest, TellsPodsWhatTheAttacherSays) {
    put_claim("c");
    put_pod("p", "n1");
    run<AttachDetachController>();
    pass(1s);
    api.change<VolumeAttachment>({"", attachment_of("c", "n1")}, [](VolumeAttachment& now) {
        now.status.attach_error.emplace().message = "rpc error: no such disk";
        now.status.attach_error->time = Timestamp::from_seconds(5);
    });
    pass(1s);
    EXPECT_TRUE(has_event("FailedAttachVolume: AttachVolume.Attach failed for volume \"pv-c\" : rpc error: no such disk"));
    pass(1min);
    EXPECT_EQ(count_of("no such disk"), 1u);
    attacher();
    EXPECT_TRUE(has_event("SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume \"pv-c\" "));
}

TEST_F(AttachDetachTest, TellsPodsThatNoAttacherAnswers) {
    put_claim("c");
    put_pod("p", "n1");
    run<AttachDetachController>();
    pass(2min + 1s);
    EXPECT_TRUE(
        has_event("FailedAttachVolume: AttachVolume.Attach failed for volume \"pv-c\" : timed out waiting for external-attacher of "
                  "csi.example.com CSI driver to attach volume h-c"));
    EXPECT_EQ((api.list<VolumeAttachment>().size()), 1u);
}

TEST_F(AttachDetachTest, AnAttachmentThatIsDeletedByAPersonIsMadeAgain) {
    mount_on_n1();
    api.remove<VolumeAttachment>({"", attachment_of("c", "n1")});
    pass(1s);
    EXPECT_TRUE(shown("n1").empty());
    attacher();
    ASSERT_TRUE(attachment("n1"));
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp);
    attacher();
    EXPECT_EQ(shown("n1"), std::vector{Volume});
}

TEST_F(AttachDetachTest, FindsItsWayAfterARestart) {
    mount_on_n1();
    crash();
    erase_pod("p");
    api.erase<PersistentVolume>({"", "pv-c"});
    run<AttachDetachController>();
    pass(1s);
    EXPECT_FALSE(attachment("n1")->metadata.deletion_timestamp) << "still mounted";
    set_in_use("n1", {});
    EXPECT_TRUE(attachment("n1")->metadata.deletion_timestamp) << "known from the node's status";
    crash();
    api.change<Node>({"", "n1"}, [&](Node& node) { node.status.volumes_attached = {{.name = Volume}}; });
    api.erase<VolumeAttachment>({"", attachment_of("c", "n1")});
    run<AttachDetachController>();
    pass(1s);
    EXPECT_TRUE(shown("n1").empty()) << "what is not attached is not shown";
}

TEST_F(AttachDetachTest, AttachmentsOfOthersAreNotTouched) {
    put_claim("c");
    VolumeAttachment other;
    other.metadata.name = "other";
    other.spec = {.attacher = Driver, .node_name = "n1"};
    other.spec.source.persistent_volume_name = "pv-c";
    api.put(other);
    run<AttachDetachController>();
    pass(10min);
    EXPECT_TRUE(api.find<VolumeAttachment>({"", "other"}));
}

TEST_F(AttachDetachTest, TellsPodsOfTheNodeInTheAttachmentsName) {
    put_claim("c");
    put_pod("p", "n1");
    VolumeAttachment forged;
    forged.metadata.name = attachment_of("c", "n1");
    forged.spec = {.attacher = Driver, .node_name = "n2"};
    forged.spec.source.persistent_volume_name = "pv-c";
    forged.status.attach_error.emplace().message = "no such node";
    api.put(forged);
    run<AttachDetachController>();
    pass(10min);
    EXPECT_EQ(count_of("no such node"), 1u);
}

TEST_F(AttachDetachTest, InlineInTreeVolumesAreAttachedByTheDriverThatTookOver) {
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p";
    pod.spec.node_name = "n1";
    auto& volume = pod.spec.volumes.emplace_back();
    volume.name = "data";
    volume.cinder.emplace().volume_id = "id";
    api.put(pod);
    run<AttachDetachController>();
    pass(1s);
    const auto made = api.list<VolumeAttachment>();
    ASSERT_EQ(made.size(), 1u);
    EXPECT_EQ(made[0].spec.attacher, "cinder.csi.openstack.org");
    ASSERT_TRUE(made[0].spec.source.inline_volume_spec);
    EXPECT_EQ(made[0].spec.source.inline_volume_spec->csi->volume_handle, "id");
    attacher();
    EXPECT_EQ(shown("n1"), std::vector<std::string>{"kubernetes.io/csi/cinder.csi.openstack.org^id"});
    erase_pod("p");
    pass(1s);
    EXPECT_TRUE(api.list<VolumeAttachment>()[0].metadata.deletion_timestamp);
}

/// A pod of 1.5 MB has several times as many.
TEST_F(AttachDetachTest, ManyVolumesOfOnePodTakeLinearTime) {
    constexpr std::size_t Many = 4'000;
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p";
    pod.spec.node_name = "n1";
    std::vector<std::string> names;
    for (std::size_t i = 0; i < Many; ++i) {
        auto& volume = pod.spec.volumes.emplace_back();
        volume.name = "v" + std::to_string(i);
        volume.cinder.emplace().volume_id = "id" + std::to_string(i);
        names.push_back(objects::unique_volume_name("cinder.csi.openstack.org", volume.cinder->volume_id));
    }
    api.put(pod);
    run<AttachDetachController>();
    pass(1s);
    EXPECT_EQ(api.list<VolumeAttachment>().size(), Many);
    set_in_use("n1", names);
    api.clear_requests();
    erase_pod("p");
    pass(1s);
    EXPECT_EQ(api.requests().size(), 0u) << "nothing was attached, and all is in use";
    set_in_use("n1", {});
    EXPECT_TRUE(
        std::ranges::all_of(api.list<VolumeAttachment>(), [](const auto& one) { return one.metadata.deletion_timestamp.has_value(); }));
}

}  // namespace
}  // namespace porthole::controllers
