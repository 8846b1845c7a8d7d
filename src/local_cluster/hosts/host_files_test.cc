#include "local_cluster/hosts/host_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local_cluster/hosts/node_identity.h"
#include "net/tls/x509.h"
#include "node_join/identity.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;

/// A host that runs, with C:\ in an ordinary directory.
struct HostFilesTest : testing::Test {
    HostFilesTest() { fs::create_directories(pki); }
    ~HostFilesTest() override { fs::remove_all(data.root()); }

    Reason reason() const {
        const auto read = files.read_credential("client.pem");
        return read ? Reason::Unknown : read.error().reason;
    }
    /// What a pod with C:\ as a hostPath can do: `place` leads to where its contents are now.
    void replace_by_link(const fs::path& place) const {
        fs::rename(place, data.root() / "outside");
        fs::create_directory_symlink(data.root() / "outside", place);
    }

    const DataDir data{(fs::temp_directory_path() / ("porthole-host-files-" + std::to_string(::getpid()))).string()};
    const NodeHost node{.name = "windows-1", .windows_profile = "2022"};
    const fs::path folder = data.node(node.name), pki = folder / "h/rootfs/wine/drive_c/k/pki";
    const HostFiles files{folder};
};

TEST_F(HostFilesTest, AreReadOnTheDriveOnly) {
    EXPECT_EQ(reason(), Reason::NotFound);
    ASSERT_TRUE(write_durably(pki / "client.pem", "an identity"));
    EXPECT_EQ(files.read_credential("client.pem").value(), "an identity");
    EXPECT_EQ(files.credential_status("client.pem")->size, 11u);
    EXPECT_EQ(files.root_user().value(), ::getuid());
    replace_by_link(folder / "h/rootfs/wine/drive_c/k");
    EXPECT_EQ(reason(), Reason::Forbidden);
    EXPECT_EQ(files.credential_status("client.pem").error().reason, Reason::Forbidden);
}

TEST_F(HostFilesTest, AreSmallAndRegular) {
    ASSERT_TRUE(write_durably(pki / "client.pem", std::string(64 << 10, 'a')));
    EXPECT_EQ(files.read_credential("client.pem")->size(), 64u << 10);
    ASSERT_TRUE(write_durably(pki / "client.pem", std::string((64 << 10) + 1, 'a')));
    EXPECT_EQ(reason(), Reason::RequestEntityTooLarge);
    fs::remove(pki / "client.pem");
    ASSERT_EQ(::mkfifo((pki / "client.pem").c_str(), 0600), 0);
    EXPECT_EQ(reason(), Reason::Forbidden) << "without waiting for a writer";
}

TEST_F(HostFilesTest, AnIdentityThatIsNotOnTheDriveIsRefused) {
    const SystemTime now = std::chrono::system_clock::now(), later = now + std::chrono::hours(24);
    const auto authority = net::CertificateAuthority::create("own", now, later);
    const auto key = net::PrivateKey::generate();
    const auto certificate =
        authority.issue(key, {.common_name = "system:node:n"}, {.not_before = now, .not_after = later, .for_client = true});
    ASSERT_TRUE(node_join::write_node_identity(pki, {certificate.value(), key.pem()}));
    EXPECT_FALSE(is_refused(data, node, authority.certificate_pem(), now));
    replace_by_link(pki);
    EXPECT_TRUE(is_refused(data, node, authority.certificate_pem(), now));
}

TEST_F(HostFilesTest, SayWhetherThereAreDataOfClaimsAlsoWhileTheHostDoesNotRun) {
    EXPECT_FALSE(files.has_claims().value()) << "it has never run";
    const fs::path kubelet = folder / "h/upper/wine/drive_c/var/lib/kubelet";
    fs::create_directories(kubelet / "local-volumes");
    EXPECT_FALSE(files.has_claims().value());
    fs::create_directories(kubelet / "local-volumes/pvc-1");
    EXPECT_TRUE(files.has_claims().value());
    replace_by_link(kubelet);
    EXPECT_EQ(files.has_claims().error().reason, Reason::Forbidden);
}

TEST_F(HostFilesTest, NameTheFirstProcessOfTheHost) {
    EXPECT_FALSE(is_running(files.first_process())) << "it has never run";
    fs::create_directories(folder / "h");
    ASSERT_TRUE(write_durably(folder / "h/pid", std::to_string(::getpid())));
    EXPECT_TRUE(is_running(files.first_process()));
    ASSERT_TRUE(write_durably(folder / "h/pid", "no number"));
    EXPECT_FALSE(is_running(files.first_process()));
}

TEST_F(HostFilesTest, NameTheServerByWhichTheHostHasJoined) {
    EXPECT_EQ(files.joined_server(), "");
    ASSERT_TRUE(files.note_joined("https://10.89.0.1:6443"));
    EXPECT_EQ(files.joined_server(), "https://10.89.0.1:6443");
}

}  // namespace
}  // namespace porthole::local_cluster
