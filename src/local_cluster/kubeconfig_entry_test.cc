#include "local_cluster/kubeconfig_entry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "node_join/ca_rotation.h"
#include "node_join/pki.h"

namespace porthole::local_cluster {
namespace {

TEST(AdminKubeconfig, IsNotHandedOutBetweenTheStartOfARotationAndTheServersNextCertificate) {
    const DataDir data(std::filesystem::temp_directory_path() / ("porthole-kubeconfig-" + std::to_string(::getpid())));
    const SystemTime now = std::chrono::system_clock::now();
    const auto serve = [&] {
        ASSERT_TRUE(node_join::Pki::ensure(data.pki(), {}, now));
        ASSERT_TRUE(write_admin_kubeconfig(data, "https://10.89.0.1:6443"));
    };
    serve();
    EXPECT_TRUE(admin_kubeconfig(data));
    EXPECT_TRUE(is_admin_current(data).value());
    ASSERT_TRUE(node_join::start_ca_rotation(data.pki(), now));
    for (int written = 0; written < 2; ++written) {  // `up` may write both authorities, with the certificate of the old one
        const auto early = admin_kubeconfig(data);
        ASSERT_FALSE(early);
        EXPECT_FALSE(is_admin_current(data).value());
        EXPECT_TRUE(early.error().message.starts_with("admin.kubeconfig does not have the new certificate authority yet;"));
        ASSERT_TRUE(write_admin_kubeconfig(data, "https://10.89.0.1:6443"));
    }
    serve();
    EXPECT_TRUE(admin_kubeconfig(data));
    EXPECT_TRUE(is_admin_current(data).value());
    std::filesystem::remove_all(data.root());
}

}  // namespace
}  // namespace porthole::local_cluster
