#include "csi_proxy/csi_proxy.h"

#include <gtest/gtest.h>

#include "api/csiproxy_v1.h"
#include "api/csiproxy_v1alpha2.h"
#include "csi_proxy/memory_host_fixture.h"
#include "csi_proxy/options.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1;
using testing::MemoryHost;

const std::string Staged = "C:\\k\\plugins\\staged", Target = "C:\\k\\pods\\1\\mount";
const std::string Smbs = "C:\\k\\plugins\\smb";
const std::string VolumeId = "\\\\?\\Volume{1c8f1c3e-0000-0000-0000-100000000000}\\";

struct CsiProxyTest : ::testing::Test {
    MemoryHost host;

    Result<void> make(const std::string& path) { return done(host.call(Filesystem::Mkdir, {.path = path})); }
    Result<void> remove(const std::string& path, bool force) { return done(host.call(Filesystem::Rmdir, {.path = path, .force = force})); }
    Result<void> link(const std::string& target, const std::string& path) {
        return done(host.call(Filesystem::CreateSymlink, {.source_path = target, .target_path = path}));
    }
    Result<void> map(const std::string& remote) {
        return done(host.call(Smb::NewSmbGlobalMapping, {.remote_path = remote, .local_path = Smbs, .username = "u", .password = "p"}));
    }
    bool exists(const std::string& path) { return host.call(Filesystem::PathExists, {.path = path}).value().exists; }
    bool is_link(const std::string& path) { return host.call(Filesystem::IsSymlink, {.path = path}).value().is_symlink; }

    template <class T>
    static Result<void> done(const Result<T>& result) {
        return result ? Result<void>() : Result<void>(result.error());
    }
};

// STO-24
TEST_F(CsiProxyTest, MakesLinksAndRemovesDirectories) {
    EXPECT_FALSE(exists(Staged));
    EXPECT_TRUE(make(Staged + "\\deep"));
    EXPECT_TRUE(exists(Staged + "\\deep"));
    EXPECT_FALSE(is_link(Staged));
    EXPECT_TRUE(make("C:\\k\\pods\\1"));
    EXPECT_TRUE(link(Staged, Target));
    EXPECT_TRUE(is_link(Target));
    EXPECT_TRUE(remove(Target, false)) << "the link goes";
    EXPECT_TRUE(exists(Staged + "\\deep")) << "and what it led to stays";
    EXPECT_FALSE(remove(Staged, false)) << "it is not empty";
    EXPECT_TRUE(remove(Staged, true));
    EXPECT_FALSE(exists(Staged));
    EXPECT_EQ(host.call(Filesystem::IsSymlink, {.path = Staged}).error().reason, Reason::NotFound);
}

TEST_F(CsiProxyTest, EmptiesADirectoryWithoutFollowingLinks) {
    ASSERT_TRUE(host.drive.write("C:\\Windows\\system.ini", "kept", 0644));
    ASSERT_TRUE(make(Staged + "\\deep"));
    ASSERT_TRUE(host.drive.create_symlink("C:\\Windows", Staged + "\\out"));
    EXPECT_TRUE(host.call(Filesystem::RmdirContents, {.path = Staged}));
    EXPECT_TRUE(exists(Staged));
    EXPECT_FALSE(exists(Staged + "\\out"));
    EXPECT_EQ(host.drive.read("C:\\Windows\\system.ini", 100).value(), "kept");
}

TEST_F(CsiProxyTest, FollowsNoLinkBelowTheKubeletsDirectory) {
    ASSERT_TRUE(host.drive.write("C:\\Windows\\system.ini", "kept", 0644));
    ASSERT_TRUE(host.drive.create_symlink("C:\\Windows", "C:\\k\\pods\\out"));
    const std::string inside = "C:\\k\\pods\\out\\system.ini";
    EXPECT_EQ(make("C:\\k\\pods\\out\\new").error().message, "C:\\k\\pods\\out\\new contains a link: C:\\k\\pods\\out");
    for (const Result<void>& result :
         {remove(inside, false), remove(inside, true), link(inside, Target), link(Staged, "C:\\k\\pods\\out\\link"),
          done(host.call(Filesystem::PathExists, {.path = inside})), done(host.call(Filesystem::IsSymlink, {.path = inside})),
          done(host.call(Filesystem::RmdirContents, {.path = "C:\\k\\pods\\out"}))})
        EXPECT_FALSE(result.has_value());
    EXPECT_EQ(host.drive.read("C:\\Windows\\system.ini", 100).value(), "kept");
    EXPECT_EQ(host.drive.list("C:\\Windows").value().size(), 1U);
}

TEST_F(CsiProxyTest, ALinkToNothingIsNone) {
    ASSERT_TRUE(make(Staged));
    ASSERT_TRUE(link(Staged, "C:\\k\\pods\\link"));
    ASSERT_TRUE(remove(Staged, false));
    EXPECT_TRUE(exists("C:\\k\\pods\\link"));
    EXPECT_FALSE(is_link("C:\\k\\pods\\link"));
}

TEST_F(CsiProxyTest, RefusesPathsOutside) {
    for (const std::string path : {"C:\\Windows", "C:\\k\\..\\Windows", "\\\\server\\share"}) {
        EXPECT_EQ(make(path).error().reason, Reason::BadRequest);
        EXPECT_EQ(link(path, Target).error().reason, Reason::BadRequest);
        EXPECT_EQ(link(Staged, path).error().reason, Reason::BadRequest);
        EXPECT_EQ(host.call(Volume::MountVolume, {.volume_id = VolumeId, .target_path = path}).error().reason, Reason::BadRequest);
        EXPECT_EQ(host.call(Smb::NewSmbGlobalMapping, {.remote_path = "\\\\s\\x", .local_path = path}).error().reason, Reason::BadRequest);
    }
    EXPECT_TRUE(host.host.notes.empty());
}

TEST_F(CsiProxyTest, TellsDisksByPlaceAndName) {
    host.host.disks = {
        {.number = 0, .location = "PCI Slot 3 : Adapter 1 : Port 0 : Target 2 : LUN 4", .serial_number = "abc", .unique_id = "60"},
        {.number = 3, .location = "Integrated"}};
    const auto locations = host.call(Disk::ListDiskLocations, {}).value().disk_locations;
    ASSERT_EQ(locations.size(), 1U);
    const DiskLocation& location = locations[0].value;
    EXPECT_EQ(location.adapter + "/" + location.target + "/" + location.lun_id, "1/2/4");
    const auto ids = host.call(Disk::ListDiskIDs, {}).value().disk_ids;
    ASSERT_EQ(ids.size(), 2U);
    EXPECT_EQ(ids[0].value.page83, "60");
    EXPECT_EQ(ids[0].value.serial_number, "abc");
    EXPECT_EQ(ids[1].key, 3U);
}

TEST_F(CsiProxyTest, PassesDisksAndVolumesOn) {
    ASSERT_TRUE(make(Staged));
    EXPECT_TRUE(host.call(Disk::PartitionDisk, {.disk_number = 4}));
    EXPECT_TRUE(host.call(Disk::Rescan, {}));
    EXPECT_TRUE(host.call(Disk::SetDiskState, {.disk_number = 4, .is_online = true}));
    EXPECT_EQ(host.call(Disk::GetDiskStats, {.disk_number = 4}).value().total_bytes, 4000);
    EXPECT_TRUE(host.call(Disk::GetDiskState, {.disk_number = 1}).value().is_online);
    EXPECT_TRUE(host.call(Volume::FormatVolume, {.volume_id = VolumeId}));
    EXPECT_TRUE(host.call(Volume::MountVolume, {.volume_id = VolumeId, .target_path = Staged}));
    EXPECT_TRUE(host.call(Volume::ResizeVolume, {.volume_id = VolumeId, .size_bytes = 5}));
    EXPECT_TRUE(host.call(Volume::WriteVolumeCache, {.volume_id = VolumeId}));
    EXPECT_TRUE(host.call(Volume::UnmountVolume, {.volume_id = VolumeId, .target_path = Staged}));
    EXPECT_EQ(host.call(Volume::FormatVolume, {.volume_id = "C:\\"}).error().reason, Reason::BadRequest);
    EXPECT_EQ(host.call(Volume::MountVolume, {.volume_id = VolumeId, .target_path = Target}).error().reason, Reason::NotFound);
    EXPECT_EQ(host.host.notes,
              (std::vector<std::string>{"partition 4", "rescan", "online 4", "format " + VolumeId, "mount " + VolumeId + " at " + Staged,
                                        "resize " + VolumeId + " 5", "flush " + VolumeId, "unmount " + VolumeId + " at " + Staged}));
    EXPECT_EQ(host.call(Volume::GetVolumeStats, {.volume_id = VolumeId}).value().used_bytes, 40);
    EXPECT_EQ(host.call(Volume::GetDiskNumberFromVolumeID, {.volume_id = VolumeId}).value().disk_number, 7U);
}

// STO-24
TEST_F(CsiProxyTest, WhatTheHostUsesIsNeverChanged) {
    ASSERT_TRUE(make(Staged));
    for (const HostUse& use : {HostUse{.by_windows = true}, HostUse{.paths = {"D:\\"}}, HostUse{.paths = {Staged + "\\", "C:\\data\\"}}}) {
        host.host.use = use;
        for (const Result<void>& result :
             {done(host.call(Disk::PartitionDisk, {.disk_number = 4})), done(host.call(Disk::SetDiskState, {.disk_number = 4})),
              done(host.call(Volume::MountVolume, {.volume_id = VolumeId, .target_path = Staged})),
              done(host.call(Volume::FormatVolume, {.volume_id = VolumeId})),
              done(host.call(Volume::ResizeVolume, {.volume_id = VolumeId, .size_bytes = 5}))})
            EXPECT_EQ(result.error().reason, Reason::Forbidden);
    }
    EXPECT_TRUE(host.host.notes.empty());
    EXPECT_EQ(host.call(Disk::PartitionDisk, {.disk_number = 4}).error().message.substr(0, 42),
              "disk 4 is in use by the host, as C:\\data\\;");
    host.host.use = {.paths = {Staged + "\\"}};
    EXPECT_FALSE(host.call(Volume::FormatVolume, {.volume_id = VolumeId})) << "another driver has it";
    EXPECT_TRUE(host.call(Volume::ResizeVolume, {.volume_id = VolumeId, .size_bytes = 5}));
}

TEST_F(CsiProxyTest, ServicesOfTheListOnlyAreStartedAndStopped) {
    using api::csiproxy::v1alpha1::System;
    EXPECT_TRUE(host.call(System::StartService, {.name = "MSiSCSI"}));
    EXPECT_TRUE(host.call(System::StopService, {.name = "msiscsi", .force = true}));
    EXPECT_EQ(host.call(System::StopService, {.name = "WinDefend"}).error().message,
              "service WinDefend is not one that drivers may start and stop (-allowed-services): msiscsi");
    EXPECT_FALSE(host.call(System::StartService, {.name = "RemoteRegistry"}));
    EXPECT_EQ(host.host.notes, (std::vector<std::string>{"start MSiSCSI", "stop msiscsi and others"}));
}

// STO-26
TEST_F(CsiProxyTest, AShareBecomesALink) {
    ASSERT_TRUE(host.drive.create_directories("\\\\server\\share", 0755));
    EXPECT_TRUE(map("\\\\server\\share"));
    EXPECT_EQ(host.drive.read_link(Smbs).value(), "\\\\server\\share");
    EXPECT_TRUE(map("\\\\server\\share\\")) << "again";
    EXPECT_EQ(host.drive.read_link(Smbs).value(), "\\\\server\\share");
    EXPECT_TRUE(host.call(Smb::RemoveSmbGlobalMapping, {.remote_path = "\\\\server\\share"}));
    EXPECT_EQ(host.host.notes, (std::vector<std::string>{"map \\\\server\\share as u with p", "map \\\\server\\share as u with p",
                                                         "unmap \\\\server\\share"}));
}

TEST_F(CsiProxyTest, AShareIsMappedWholeAndLinkedInPart) {
    ASSERT_TRUE(host.drive.create_directories("\\\\server\\share\\a\\b", 0755));
    EXPECT_TRUE(map("\\\\server\\share\\a\\b"));
    EXPECT_EQ(host.drive.read_link(Smbs).value(), "\\\\server\\share\\a\\b");
    EXPECT_TRUE(host.call(Smb::RemoveSmbGlobalMapping, {.remote_path = "\\\\server\\share\\a\\b"}));
    EXPECT_EQ(host.host.notes, (std::vector<std::string>{"map \\\\server\\share as u with p", "unmap \\\\server\\share"}));
}

TEST_F(CsiProxyTest, AShareIsNeverTakenForWhatElseIsThere) {
    ASSERT_TRUE(host.drive.create_directories("\\\\server\\share", 0755));
    ASSERT_TRUE(host.drive.create_symlink("\\\\server\\other", Smbs));
    EXPECT_TRUE(map("\\\\server\\share")) << "in place of another link";
    EXPECT_EQ(host.drive.read_link(Smbs).value(), "\\\\server\\share");
    ASSERT_TRUE(host.drive.remove(Smbs));
    ASSERT_TRUE(make(Smbs));
    EXPECT_TRUE(map("\\\\server\\share")) << "in place of an empty directory";
    EXPECT_EQ(host.drive.read_link(Smbs).value(), "\\\\server\\share");
    ASSERT_TRUE(host.drive.remove(Smbs));
    ASSERT_TRUE(make(Smbs + "\\data"));
    EXPECT_EQ(map("\\\\server\\share").error().reason, Reason::AlreadyExists);
    EXPECT_TRUE(exists(Smbs + "\\data"));
    EXPECT_FALSE(map("\\\\server\\away")) << "it does not answer";
}

TEST_F(CsiProxyTest, PassesTargetsOn) {
    namespace iscsi = api::csiproxy::v1alpha2;
    using Iscsi = iscsi::Iscsi;
    const iscsi::TargetPortal portal{.target_address = "10.0.0.9", .target_port = 3260};
    const std::string target = "iqn.2001-04.com.example:disk";
    EXPECT_TRUE(host.call(Iscsi::AddTargetPortal, {.target_portal = portal}));
    EXPECT_EQ(host.call(Iscsi::DiscoverTargetPortal, {.target_portal = portal}).value().iqns, std::vector<std::string>{"iqn.of.10.0.0.9"});
    EXPECT_EQ(host.call(Iscsi::ListTargetPortals, {}).value().target_portals.at(0).target_port, 3260U);
    EXPECT_TRUE(host.call(Iscsi::SetMutualChapSecret, {.mutual_chap_secret = "twelve-bytes"}));
    EXPECT_TRUE(host.call(Iscsi::ConnectTarget, {.target_portal = portal,
                                                 .iqn = target,
                                                 .auth_type = iscsi::AuthenticationType::MutualChap,
                                                 .chap_username = "u",
                                                 .chap_secret = "s"}));
    EXPECT_EQ(host.call(Iscsi::GetTargetDisks, {.target_portal = portal, .iqn = target}).value().disk_ids,
              (std::vector<std::string>{"3", "4"}));
    EXPECT_TRUE(host.call(Iscsi::DisconnectTarget, {.target_portal = portal, .iqn = target}));
    EXPECT_TRUE(host.call(Iscsi::RemoveTargetPortal, {.target_portal = portal}, "/v1alpha1.Iscsi/RemoveTargetPortal"));
    EXPECT_EQ(host.host.notes,
              (std::vector<std::string>{"add 10.0.0.9:3260", "mutual twelve-bytes", "connect 10.0.0.9:3260 " + target + " 2us",
                                        "disconnect 10.0.0.9:3260 " + target, "remove 10.0.0.9:3260"}));
}

TEST_F(CsiProxyTest, RefusesWhatIsNoTarget) {
    namespace iscsi = api::csiproxy::v1alpha2;
    using Iscsi = iscsi::Iscsi;
    const iscsi::TargetPortal portal{.target_address = "10.0.0.9", .target_port = 3260};
    for (const iscsi::TargetPortal& bad : {iscsi::TargetPortal{.target_address = "", .target_port = 1},
                                           {.target_address = "-x", .target_port = 1},
                                           {.target_address = "a b", .target_port = 1},
                                           {.target_address = "a", .target_port = 0},
                                           {.target_address = "a", .target_port = 65536}})
        EXPECT_EQ(host.call(Iscsi::AddTargetPortal, {.target_portal = bad}).error().reason, Reason::BadRequest) << bad.target_address;
    EXPECT_EQ(host.call(Iscsi::AddTargetPortal, {}).error().message, "the request has no target portal");
    for (const std::string name : {"", "disk", "iqn.a b", "iqn.a;b", "iqn.*"})
        EXPECT_EQ(host.call(Iscsi::ConnectTarget, {.target_portal = portal, .iqn = name}).error().reason, Reason::BadRequest) << name;
    EXPECT_TRUE(host.host.notes.empty());
}

TEST_F(CsiProxyTest, OtherVersionsHaveTheSameMethods) {
    EXPECT_TRUE(host.call(Filesystem::RmdirContents, {.path = "C:\\k\\pods"}, "/v2alpha1.Filesystem/RmdirContents"));
    EXPECT_TRUE(host.call(Smb::RemoveSmbGlobalMapping, {.remote_path = "\\\\s\\x"}, "/v1beta2.Smb/RemoveSmbGlobalMapping"));
    EXPECT_TRUE(host.call(Disk::Rescan, {}, "/v1beta3.Disk/Rescan"));
    EXPECT_TRUE(host.call(Volume::FormatVolume, {.volume_id = VolumeId}, "/v1beta3.Volume/FormatVolume"));
}

// STO-26
TEST(CsiProxyHost, SaysWhatItDoesNotHave) {
    MemoryHost host(true);
    EXPECT_EQ(host.call(Disk::Rescan, {}).error().message, "disks are not available on this host");
    EXPECT_EQ(host.call(Volume::FormatVolume, {.volume_id = VolumeId}).error().message, "volumes are not available on this host");
    EXPECT_EQ(host.call(Smb::RemoveSmbGlobalMapping, {.remote_path = "\\\\s\\x"}).error().message,
              "SMB shares are not available on this host");
    EXPECT_EQ(host.call(api::csiproxy::v1alpha1::System::GetBIOSSerialNumber, {}).error().reason, Reason::MethodNotAllowed);
    EXPECT_EQ(host.call(api::csiproxy::v1alpha2::Iscsi::ListTargetPortals, {}).error().message,
              "iSCSI targets are not available on this host");
}

TEST(CsiProxyHost, HasUpstreamsPipes) {
    std::vector<std::string> pipes = CsiProxy::pipes();
    for (std::string& pipe : pipes) pipe = pipe.substr(std::string("\\\\.\\pipe\\csi-proxy-").size());
    EXPECT_EQ(pipes,
              (std::vector<std::string>{"filesystem-v1", "filesystem-v2alpha1", "disk-v1", "disk-v1beta3", "volume-v1", "volume-v1beta3",
                                        "smb-v1", "smb-v1beta2", "system-v1alpha1", "iscsi-v1alpha2", "iscsi-v1alpha1"}));
    EXPECT_TRUE(CsiProxy::pipes().front().starts_with("\\\\.\\pipe\\csi-proxy-"));
}

TEST(CsiProxyFlags, AreUpstreams) {
    const auto options = parse_csi_proxy_options({"-windows-service", "-kubelet-path=D:\\kubelet", "--v", "4", "-metrics-bind-address=:1",
                                                  "-working-dir=C:\\a", "-working-dir=C:\\b", "-require-privacy=false"});
    EXPECT_EQ(options.value().services, std::vector<std::string>{"msiscsi"});
    EXPECT_EQ(parse_csi_proxy_options({"-allowed-services=a", "-allowed-services=b c"}).value().services,
              (std::vector<std::string>{"a", "b c"}));
    EXPECT_FALSE(parse_csi_proxy_options({"-allowed-services=a;b"}));
    EXPECT_TRUE(options.value().windows_service);
    EXPECT_EQ(options->kubelet_path, "D:\\kubelet");
    EXPECT_EQ(options->verbosity, 4);
    EXPECT_EQ(options->working_directories, (std::vector<std::string>{"C:\\a", "C:\\b"}));
    EXPECT_FALSE(options->require_privacy);
    EXPECT_EQ(options->warnings.size(), 1U);
    EXPECT_EQ(parse_csi_proxy_options({"-kubelet-path=kubelet"}).error().message, "--kubelet-path: not an absolute Windows path: kubelet");
}

}  // namespace
}  // namespace porthole::csi_proxy
