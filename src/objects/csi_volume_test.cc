#include "objects/csi_volume.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

TEST(CsiVolume, IsNamedByDriverAndHandle) {
    EXPECT_EQ(unique_volume_name("csi.example.com", "vol/1^a"), "kubernetes.io/csi/csi.example.com^vol/1^a");
    const auto parsed = parse_unique_volume_name("kubernetes.io/csi/csi.example.com^vol/1^a");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->driver, "csi.example.com");
    EXPECT_EQ(parsed->handle, "vol/1^a");
    EXPECT_FALSE(parse_unique_volume_name("kubernetes.io/nfs/x"));
    EXPECT_FALSE(parse_unique_volume_name("kubernetes.io/csi/csi.example.com"));
}

TEST(CsiVolume, AnAttachmentIsNamedByTheDigestOfVolumeAndNode) {
    EXPECT_EQ(attachment_name("csi.example.com", "vol-1", "node-1"),
              "csi-b74c7fc125891ffa0d0f2e0d645733e3fae7fba3066e76500a771ea08be9da28");
}

}  // namespace
}  // namespace porthole::objects
