#include "apiserver/admission/admission_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

struct AdmissionOptionsTest : AdmissionTest {
    std::string refusal_of(AdmissionOptions options) {
        const auto chain = make_admission_chain(given_, options);
        return chain ? "" : chain.error().message;
    }
    std::vector<std::string> plugins_of(AdmissionOptions options) {
        const auto chain = make_admission_chain(given_, options);
        EXPECT_TRUE(chain) << chain.error().message;
        return chain->names();
    }
    static bool has(const std::vector<std::string>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }
};

TEST_F(AdmissionOptionsTest, SwitchesPluginsOnAndOffByUpstreamsNames) {
    const auto usual = plugins_of({});
    EXPECT_TRUE(has(usual, "LimitRanger"));
    EXPECT_FALSE(has(usual, "AlwaysPullImages"));
    EXPECT_FALSE(has(usual, "DenyServiceExternalIPs"));
    const auto chosen = plugins_of({.enabled = {"AlwaysPullImages", "LimitRanger"}, .disabled = {"PodSecurity"}, .configurations = {}});
    EXPECT_TRUE(has(chosen, "AlwaysPullImages"));
    EXPECT_TRUE(has(chosen, "LimitRanger"));
    EXPECT_FALSE(has(chosen, "PodSecurity"));
    EXPECT_EQ(chosen.size(), usual.size());
    EXPECT_EQ(chosen.back(), "ResourceQuota") << "the order does not follow the flag";
}

TEST_F(AdmissionOptionsTest, RefusesNamesThatAreNotKnown) {
    EXPECT_EQ(refusal_of({.enabled = {"Nothing"}, .disabled = {}, .configurations = {}}),
              "enable-admission-plugins plugin \"Nothing\" is unknown");
    EXPECT_EQ(refusal_of({.enabled = {}, .disabled = {"Nothing"}, .configurations = {}}),
              "disable-admission-plugins plugin \"Nothing\" is unknown");
    EXPECT_EQ(refusal_of({.enabled = {"PodSecurity", "LimitRanger"}, .disabled = {"PodSecurity", "LimitRanger"}, .configurations = {}}),
              "[LimitRanger PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped");
    EXPECT_EQ(refusal_of({.enabled = {"NamespaceExists"}, .disabled = {}, .configurations = {}}),
              "enable-admission-plugins plugin \"NamespaceExists\" is not supported by this server");
    EXPECT_EQ(refusal_of({.enabled = {}, .disabled = {"NamespaceExists"}, .configurations = {}}), "");
    EXPECT_EQ(refusal_of({.enabled = {}, .disabled = {"RbacEscalation"}, .configurations = {}}),
              "disable-admission-plugins plugin \"RbacEscalation\" is unknown")
        << "that nobody grants more than they have is not an option";
}

TEST_F(AdmissionOptionsTest, SaysWhichPluginItsConfigurationBelongsTo) {
    EXPECT_EQ(refusal_of({.enabled = {"EventRateLimit"}, .disabled = {}, .configurations = {}}),
              "admission plugin \"EventRateLimit\": needs a configuration: --admission-control-config-file");
    EXPECT_EQ(refusal_of({.enabled = {"ImagePolicyWebhook"}, .disabled = {}, .configurations = {}}),
              "admission plugin \"ImagePolicyWebhook\": no config specified");
}

struct AdmissionConfigurationFile : testing::Test {
    void write(const char* path, const char* text) { ASSERT_TRUE(servers.files().write(path, text, 0600)); }
    std::string read(const char* path) {
        const auto found = read_admission_configurations(servers.files(), path);
        if (!found) return found.error().message;
        std::string text;
        for (const auto& [name, value] : *found) text += name + "=" + schema::to_json(value) + "\n";
        return text;
    }
    sim::SimLoop loop;
    FakeServers servers{loop};
};

TEST_F(AdmissionConfigurationFile, HoldsOrNamesTheConfigurationOfEachPlugin) {
    ASSERT_TRUE(servers.files().create_directories("/etc/k", 0755));
    write("/etc/k/admission.yaml",
          "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: A\n  configuration: {x: 1}\n"
          "- name: B\n  path: b.yaml\n");
    write("/etc/k/b.yaml", "z: 2\n");
    EXPECT_EQ(read("/etc/k/admission.yaml"), "A={\"x\":1}\nB={\"z\":2}\n");
    write("/etc/k/old.yaml", "podNodeSelectorPluginConfig: {a: b=c}\n");
    EXPECT_EQ(read("/etc/k/old.yaml"),
              "ImagePolicyWebhook={\"podNodeSelectorPluginConfig\":{\"a\":\"b=c\"}}\n"
              "PodNodeSelector={\"podNodeSelectorPluginConfig\":{\"a\":\"b=c\"}}\n");
}

TEST_F(AdmissionConfigurationFile, IsReadStrictly) {
    write("/a", "apiVersion: v1\nkind: AdmissionConfiguration\n");
    EXPECT_NE(read("/a").find("is not apiserver.config.k8s.io/v1 with kind AdmissionConfiguration"), std::string::npos);
    write("/b", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{path: /x, nam: A}]\n");
    ASSERT_TRUE(servers.files().write("/x", "{}", 0600));
    EXPECT_EQ(read("/b"), "/b: [plugins[0].name: Required value, unknown field \"plugins[0].nam\"]");
    write("/c", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: A, path: /none}]\n");
    EXPECT_NE(read("/c").find("/none"), std::string::npos);
    EXPECT_NE(read("/missing").find("/missing"), std::string::npos);
}

}  // namespace
}  // namespace porthole::apiserver
