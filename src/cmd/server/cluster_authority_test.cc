#include "cmd/server/cluster_authority.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "node_join/pki.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::cmd {
namespace {

/// Of a cluster that is made for it.
std::string new_authority() {
    const auto folder = std::filesystem::temp_directory_path() / ("porthole-authority-" + std::to_string(::getpid()));
    const auto pki = node_join::Pki::ensure(folder, {{"kubernetes"}, {"127.0.0.1"}}, SystemTime(std::chrono::days(20000)));
    std::filesystem::remove_all(folder);
    return pki ? pki->ca_pem : "";
}

std::string root_ca(const std::string& pem) {
    return schema::to_json(schema::Value::object({{"kind", "ConfigMap"}, {"data", schema::Value::object({{"ca.crt", pem}})}}));
}

TEST(ClusterAuthority, IsRefusedIfItIsAnothers) {
    const std::string own = new_authority(), other = new_authority();
    ASSERT_NE(own, other);
    EXPECT_TRUE(check_authority(root_ca(own), own));
    EXPECT_TRUE(check_authority(root_ca(other + own), own)) << "while it is replaced";
    EXPECT_TRUE(check_authority(root_ca(own), other + own));
    const auto refused = check_authority(root_ca(other), own);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("etcd has another cluster: its authority is sha256:"), std::string::npos);
}

TEST(ClusterAuthority, IsNotRefusedIfItCannotBeRead) {
    const std::string own = new_authority();
    for (const char* text : {"", "k8s:enc:secretbox:v1:x", "{}", R"({"data":{"ca.crt":"x"}})", R"({"data":{"ca.crt":""}})"}) {
        SCOPED_TRACE(text);
        EXPECT_TRUE(check_authority(text, own));
    }
}

}  // namespace
}  // namespace porthole::cmd
