#include "winhost/host/cni_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using schema::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Value parsed(const std::string& text) { return schema::parse_json(text).value(); }

PodAttachment some_pod() {
    PodAttachment pod{.sandbox_id = "sandbox1", .namespace_id = "8a1b5d3e-0000-0000-0000-000000000001", .config = {}};
    pod.config.metadata.emplace();
    pod.config.metadata->name = "web-0";
    pod.config.metadata->namespace_ = "shop";
    pod.config.metadata->uid = "u-1";
    pod.config.dns_config.emplace();
    pod.config.dns_config->servers = {"10.96.0.10"};
    pod.config.dns_config->searches = {"shop.svc.cluster.local"};
    pod.config.port_mappings.push_back({.container_port = 80, .host_port = 4444});
    pod.config.port_mappings.push_back({.container_port = 81});
    return pod;
}

TEST(CniConfig, ReadsOnePluginAndChains) {
    const auto one = CniNetworkConfig::parse(R"({"cniVersion":"0.2.0","name":"cbr0","type":"win-bridge"})");
    ASSERT_TRUE(one);
    EXPECT_EQ(one->type(0), "win-bridge");
    const auto chain = CniNetworkConfig::parse(R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"a"},{"type":"b"}]})");
    ASSERT_TRUE(chain);
    EXPECT_EQ(chain->plugins.size(), 2u);
    EXPECT_EQ(chain->type(1), "b");
}

TEST(CniConfig, SaysWhatIsMissing) {
    struct {
        const char* text;
        const char* message;
    } const rows[] = {
        {R"({"type":"a"})", "has no name"}, {R"({"name":"n"})", "has no type"}, {R"({"name":"n","plugins":[]})", "has no plugins"}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        const auto network = CniNetworkConfig::parse(row.text);
        ASSERT_FALSE(network);
        EXPECT_THAT(network.error().message, HasSubstr(row.message));
    }
}

TEST(CniConfig, GivesAPluginOnlyTheCapabilitiesItAsksFor) {
    const auto network = CniNetworkConfig::parse(
        R"({"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a","capabilities":{"portMappings":true,"dns":true}},{"type":"b"}]})");
    const Value first = parsed(make_plugin_input(*network, 0, some_pod(), Value()));
    EXPECT_EQ(schema::to_json(*first.at_path({"runtimeConfig", "portMappings"})),
              R"([{"hostPort":4444,"containerPort":80,"protocol":"tcp"}])");
    EXPECT_EQ(schema::to_json(*first.at_path({"runtimeConfig", "dns", "servers"})), R"(["10.96.0.10"])");
    EXPECT_EQ(first.find("capabilities"), nullptr);
    EXPECT_EQ(first.find("prevResult"), nullptr);
    const Value second = parsed(make_plugin_input(*network, 1, some_pod(), parsed(R"({"ips":[]})")));
    EXPECT_EQ(second.find("runtimeConfig"), nullptr);
    EXPECT_NE(second.find("prevResult"), nullptr);
    EXPECT_EQ(second.string_at({"name"}), "n");
    EXPECT_EQ(second.string_at({"cniVersion"}), "0.3.1");
}

TEST(CniConfig, NamesThePodInTheEnvironment) {
    const auto environment = make_plugin_environment("ADD", some_pod(), "C:\\k\\cni");
    EXPECT_THAT(environment, Contains("CNI_NETNS=8a1b5d3e-0000-0000-0000-000000000001"));
    EXPECT_THAT(environment, Contains("CNI_PATH=C:\\k\\cni"));
    EXPECT_THAT(environment, Contains("CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;"
                                      "K8S_POD_INFRA_CONTAINER_ID=sandbox1;K8S_POD_UID=u-1"));
}

TEST(CniConfig, ReadsResultsOfAllVersions) {
    const auto now =
        read_plugin_result(parsed(R"({"ips":[{"address":"10.244.4.7/24"}],"dns":{"nameservers":["10.96.0.10"],"search":["a"]}})"));
    ASSERT_TRUE(now);
    EXPECT_THAT(now->addresses, ElementsAre("10.244.4.7"));
    EXPECT_THAT(now->dns_servers, ElementsAre("10.96.0.10"));
    EXPECT_THAT(now->dns_searches, ElementsAre("a"));
    const auto old = read_plugin_result(parsed(R"({"ip4":{"ip":"10.244.4.8/24"}})"));
    ASSERT_TRUE(old);
    EXPECT_THAT(old->addresses, ElementsAre("10.244.4.8"));
    EXPECT_FALSE(read_plugin_result(parsed("{}")));
}

TEST(CniConfig, RepeatsAPluginsOwnWords) {
    EXPECT_EQ(plugin_failure(R"({"code":7,"msg":"no network","details":"l2bridge"})", "", 1), "no network; l2bridge");
    EXPECT_EQ(plugin_failure("", "it broke\r\n", 1), "it broke");
    EXPECT_EQ(plugin_failure("", "", 3), "exit code 3");
}

}  // namespace
}  // namespace porthole::winhost
