#include "local_cluster/control_plane/cluster_api.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;

/// The requests of a supervisor whose data directory has keys.
struct ClusterApiKeys : testing::Test {
    ClusterApiKeys() {
        fs::create_directories(data.root());
        EXPECT_TRUE(node_join::Pki::ensure(data.pki(), {.dns = {"localhost"}, .addresses = {"127.0.0.1"}}, loop.wall_now()));
        EXPECT_TRUE(api.use_keys());
    }
    ~ClusterApiKeys() override { fs::remove_all(data.root()); }

    std::string authority() const { return read_file(data.pki() / "ca.crt").value_or(""); }
    std::string issuer() const { return net::parse_certificate(api.identity().certificate_pem)->issuer_common_name; }

    const DataDir data{fs::temp_directory_path() / ("porthole-cluster-api-" + std::to_string(::getpid()))};
    const Cluster cluster;
    AsioLoop loop;
    ClusterApi api{loop, data, cluster};
};

TEST_F(ClusterApiKeys, AreThoseOfTheNewAuthorityOnceItHasBeenRotated) {
    const std::string before = api.identity().certificate_pem, old_issuer = issuer();
    ASSERT_TRUE(api.use_current_keys());
    EXPECT_EQ(api.identity().certificate_pem, before) << "nothing has changed";
    ASSERT_TRUE(node_join::start_ca_rotation(data.pki(), loop.wall_now()));
    ASSERT_TRUE(api.use_current_keys());
    EXPECT_EQ(api.pki().ca_pem, authority());
    EXPECT_NE(issuer(), old_issuer);
    ASSERT_TRUE(node_join::finish_ca_rotation(data.pki()));
    ASSERT_TRUE(api.use_current_keys());
    EXPECT_EQ(api.pki().ca_pem, authority());
}

TEST_F(ClusterApiKeys, StayWhileTheFilesCannotBeRead) {
    const std::string before = api.identity().certificate_pem;
    fs::remove(data.pki() / "ca.crt");
    EXPECT_TRUE(api.use_current_keys());
    EXPECT_EQ(api.identity().certificate_pem, before);
}

}  // namespace
}  // namespace porthole::local_cluster
