#include "local_cluster/control_plane/hardened.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "apiserver/access_flags.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

struct Hardened : testing::Test {
    Hardened() { std::filesystem::create_directories(folder); }
    ~Hardened() override { std::filesystem::remove_all(folder); }

    /// What the server makes of the flags.
    apiserver::ApiServerOptions options() {
        const std::vector<std::string> flags = hardened_server_flags(data);
        const auto value_of = [&](const char* flag) { return *std::next(std::ranges::find(flags, flag)); };
        const apiserver::AccessFlags access{.enable_admission_plugins = {"DenyServiceExternalIPs", "EventRateLimit"},
                                            .admission_control_config_file = value_of("--admission-control-config-file"),
                                            .authentication_config = value_of("--authentication-config")};
        EXPECT_EQ(value_of("--enable-admission-plugins"), "DenyServiceExternalIPs,EventRateLimit");
        apiserver::ApiServerOptions options;
        const auto read = apiserver::read_access_flags(*make_file_system(), access, options);
        EXPECT_TRUE(read) << read.error().message;
        return options;
    }

    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("porthole-hardened-" + std::to_string(::getpid()));
    const DataDir data{folder};
};

TEST_F(Hardened, AnswersAnonymousRequestsForHealthAndJoiningOnly) {
    ASSERT_TRUE(ensure_hardened_files(data));
    const apiserver::AnonymousPolicy anonymous = options().authentication.anonymous;
    EXPECT_TRUE(anonymous.enabled);
    EXPECT_EQ(anonymous.paths,
              (std::vector<std::string>{"/livez", "/readyz", "/healthz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"}));
}

TEST_F(Hardened, KeepsPodsToTheBaselineAndLimitsEvents) {
    ASSERT_TRUE(ensure_hardened_files(data));
    const auto configurations = options().admission.configurations;
    const auto& pods = configurations.at("PodSecurity");
    EXPECT_EQ(pods.string_at({"defaults", "enforce"}), "baseline");
    EXPECT_EQ(configurations.at("EventRateLimit").find("limits")->as_array().size(), 3u);
}

TEST_F(Hardened, LeavesFilesThatThePersonHasChanged) {
    ASSERT_TRUE(write_durably(data.admission_file(), "mine"));
    ASSERT_TRUE(ensure_hardened_files(data));
    EXPECT_EQ(*read_file(data.admission_file()), "mine");
    EXPECT_EQ(std::filesystem::status(data.authentication_file()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace porthole::local_cluster
