// Pods that wait for volumes of CSI drivers.
#include "api/storage_v1.h"
#include "kubelet/kubelet_fixture.h"
#include "kubelet/plugins/plugin_connection.h"
#include "objects/csi_volume.h"

namespace porthole::kubelet {
namespace {

using namespace api::storage::v1;

/// Of a node without any plugin.
struct NoConnector final : PluginConnector {
    std::unique_ptr<PluginConnection> connect(const std::string&) override { return nullptr; }
    Task<> reach(std::string) override { co_return Error(Reason::Unavailable, "no one listens"); }
};

struct PodsWithCsiVolumesTest : KubeletTest {
    PodsWithCsiVolumesTest() {
        stop();
        plugins = &connector;
        start();
    }
    ~PodsWithCsiVolumesTest() override { stop(); }

    NoConnector connector;
};

TEST_F(PodsWithCsiVolumesTest, APodFailsWhereItsNodeCannotHaveAnotherVolume) {
    CSIDriver driver;
    driver.metadata.name = "csi.example.com";
    driver.spec.volume_lifecycle_modes = {"Persistent"};
    driver.spec.node_allocatable_update_period_seconds = 60;
    api.put(driver);
    core::PersistentVolumeClaim claim;
    claim.metadata.name = "data";
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = "claim-uid";
    claim.spec.volume_name = "pv1";
    claim.status.phase = "Bound";
    api.put(claim);
    core::PersistentVolume volume;
    volume.metadata.name = "pv1";
    volume.spec.claim_ref.emplace().uid = "claim-uid";
    auto& source = volume.spec.csi.emplace();
    source.driver = driver.metadata.name;
    source.volume_handle = "h1";
    api.put(volume);
    VolumeAttachment attachment;
    attachment.metadata.name = objects::attachment_name(source.driver, "h1", "n1");
    attachment.status.attach_error.emplace().error_code = 8;  // gRPC's ResourceExhausted
    api.put(attachment);

    add("p", R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}],
        "containers":[{"name":"a","image":"image:1","volumeMounts":[{"name":"v","mountPath":"/v"}]}]})");
    loop.advance(1min);
    EXPECT_EQ(pod("p").status.phase, "Pending") << "it may be attached yet";
    EXPECT_TRUE(until([&] { return pod("p").status.phase == "Failed"; }, 2min));
    EXPECT_EQ(pod("p").status.reason, "VolumeAttachmentLimitExceeded");
    EXPECT_THAT(pod("p").status.message, testing::StartsWith("Pod was rejected: Node has reached its volume attachment limit"));
}

}  // namespace
}  // namespace porthole::kubelet
