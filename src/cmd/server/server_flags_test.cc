#include "cmd/server/server_flags.h"

#include <gtest/gtest.h>

namespace porthole::cmd {
namespace {

void expect_refused(const std::string& flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
        SCOPED_TRACE(value);
        const auto checked = check_server_flags({flag + "=" + value});
        ASSERT_FALSE(checked);
        EXPECT_NE(checked.error().message.find(flag), std::string::npos) << checked.error().message;
    }
}

TEST(ServerFlags, ARequestHasATimeLimitThatIsNotZero) {
    EXPECT_TRUE(check_server_flags({"--request-timeout", "1m30s"}));
    expect_refused("--request-timeout", {"0", "0s", "-1s", "soon"});
}

TEST(ServerFlags, TheTimeLimitIsUsedAndShown) {
    ServerFlags flags;
    CLI::App app;
    add_server_flags(app, flags);
    EXPECT_EQ(shown_flags(app, flags).at("request-timeout"), "1m0s");
    app.parse("--request-timeout=90s");
    EXPECT_EQ(flags.limits.request_time, std::chrono::seconds(90));
    EXPECT_EQ(shown_flags(app, flags).at("request-timeout"), "90s");
}

TEST(ServerFlags, TheRateOfEvictionsIsANumberOrZero) {
    for (const char* accepted : {"0", "0.001", "1e3"}) EXPECT_TRUE(check_server_flags({"--node-eviction-rate", accepted})) << accepted;
    expect_refused("--node-eviction-rate", {"-1", "0.0001", "1001", "nan", "inf", "fast"});
}

TEST(ServerFlags, SettingsOfTheNodeLifecycleAreShown) {
    ServerFlags flags;
    CLI::App app;
    add_server_flags(app, flags);
    EXPECT_EQ(shown_flags(app, flags).at("node-monitor-grace-period"), "50s");
    EXPECT_EQ(shown_flags(app, flags).at("node-eviction-rate"), "0.1");
    app.parse("--node-monitor-grace-period 2m --node-eviction-rate 5");
    EXPECT_EQ(flags.node_monitor_grace, std::chrono::minutes(2));
    EXPECT_EQ(flags.node_eviction_rate, 5);
}

TEST(ServerFlags, ASchedulerThatIsDisabledHasNoConfiguration) {
    EXPECT_TRUE(check_server_flags({"--disable-scheduler", "--disable-controller-manager"}));
    EXPECT_FALSE(check_server_flags({"--disable-scheduler", "--scheduler-config", "profiles.yaml"}));
}

TEST(ServerFlags, TheIssuerOfServiceAccountsCanBeRepeated) {
    ServerFlags flags;
    CLI::App app;
    add_server_flags(app, flags);
    EXPECT_EQ(service_account_issuers(flags), std::vector<std::string>{"https://kubernetes.default.svc.cluster.local"});
    app.parse("--service-account-issuer https://next --service-account-issuer=https://a,b");
    EXPECT_EQ(service_account_issuers(flags), (std::vector<std::string>{"https://next", "https://a,b"})) << "a comma is part of a name";
    EXPECT_EQ(shown_flags(app, flags).at("service-account-issuer"), "https://next,https://a,b");
    EXPECT_FALSE(check_server_flags({"--service-account-issuer="}));
    EXPECT_FALSE(check_server_flags({"--service-account-issuer", "https://a", "https://b"}));
    EXPECT_FALSE(check_server_flags({"--service-account-issuer=https://a", "--service-account-issuer=https://a"}));
}

}  // namespace
}  // namespace porthole::cmd
