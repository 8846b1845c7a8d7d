#include <gmock/gmock.h>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "apiserver/admission/admission_fixture.h"
#include "apiserver/admission/pod_security/pod_security_configuration.h"
#include "schema/convert.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct PodSecurityTest : AdmissionTest {
    void namespace_with(std::map<std::string, std::string> modes) {
        Namespace made = named<Namespace>("", "ns");
        for (const auto& [mode, value] : modes) made.metadata.labels["pod-security.kubernetes.io/" + mode] = value;
        put(made);
    }
    /// A pod from the YAML of its spec.
    static Pod pod(const std::string& spec) {
        Pod pod = named<Pod>("ns", "p");
        auto parsed = schema::from_value<PodSpec>(*schema::parse_yaml(spec));
        EXPECT_TRUE(parsed) << spec;
        pod.spec = std::move(*parsed);
        return pod;
    }
    std::string answer(const std::string& spec) { return create(*plugin, pod(spec)); }

    static constexpr const char* Head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n";
    /// From now on with this PodSecurityConfiguration, less its version and kind.
    void configure(const std::string& yaml) {
        configurations = {{"PodSecurity", *schema::parse_yaml(Head + yaml)}};
        given_.configurations = &configurations;
        auto made = make_pod_security(given_);
        ASSERT_TRUE(made) << made.error().message;
        plugin = std::move(*made);
    }

    AdmissionConfigurations configurations;
    AdmissionPluginPtr plugin = *make_pod_security(given_);
};

constexpr const char* Harmless = "{containers: [{name: a, image: i}]}";
constexpr const char* Ipc = "{hostIPC: true, containers: [{name: a}]}";
constexpr const char* Hardened =
    "{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, "
    "containers: [{name: a, image: i, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}";

TEST_F(PodSecurityTest, ManyCapabilitiesTakeLinearTime) {
    constexpr int Capabilities = 50'000;
    namespace_with({{"enforce", "baseline"}});
    Pod many = pod(Harmless);
    auto& added = many.spec.containers[0].security_context.emplace().capabilities.emplace().add;
    for (int i = 0; i < Capabilities; ++i) added.push_back("C" + std::to_string(i));
    const std::string refusal = create(*plugin, many);
    EXPECT_THAT(refusal, HasSubstr("\"C0\""));
    EXPECT_THAT(refusal, HasSubstr("\"C" + std::to_string(Capabilities - 1) + "\""));
}

TEST_F(PodSecurityTest, ManyContainersTakeLinearTime) {
    constexpr int Many = 20'000;
    namespace_with({{"enforce", "baseline"}});
    Pod many = pod(Harmless);
    for (int i = 0; i < Many; ++i) {
        Container& container = many.spec.containers.emplace_back();
        container.name = "c" + std::to_string(i);
        container.security_context.emplace().se_linux_options.emplace().type = "t" + std::to_string(i % (Many / 2));
    }
    const std::string refusal = create(*plugin, many);
    EXPECT_THAT(refusal, HasSubstr("types \"t0\", \"t1\","));
    EXPECT_THAT(refusal, HasSubstr(", \"t" + std::to_string(Many / 2 - 1) + "\")"));
}

TEST_F(PodSecurityTest, BaselineRefusesWhatLeavesTheContainerAndSaysWhichContainer) {
    namespace_with({{"enforce", "baseline"}});
    const struct {
        const char* spec;
        const char* message;  ///< "" when it passes
    } rows[] = {
        {Harmless, ""},
        {"{containers: [{name: a, securityContext: {privileged: true}}]}",
         R"(privileged (container "a" must not set securityContext.privileged=true))"},
        {"{hostNetwork: true, hostPID: true, containers: [{name: a}]}", "host namespaces (hostNetwork=true, hostPID=true)"},
        {"{volumes: [{name: v, hostPath: {path: /}}], containers: [{name: a}]}", R"(hostPath volumes (volume "v"))"},
        {"{containers: [{name: a, ports: [{containerPort: 80, hostPort: 80}]}, {name: b, ports: [{containerPort: 81, hostPort: 81}]}]}",
         R"(hostPort (containers "a", "b" use hostPorts 80, 81))"},
        {"{containers: [{name: a, securityContext: {capabilities: {add: [NET_ADMIN, CHOWN]}}}]}",
         R"(non-default capabilities (container "a" must not include "NET_ADMIN" in securityContext.capabilities.add))"},
        {"{securityContext: {sysctls: [{name: kernel.msgmax, value: \"1\"}, {name: net.ipv4.tcp_syncookies, value: \"1\"}]}, containers: "
         "[{name: a}]}",
         "forbidden sysctls (kernel.msgmax)"},
        {"{securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: a}]}",
         R"(seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"))"},
        {"{securityContext: {windowsOptions: {hostProcess: true}}, containers: [{name: a}]}",
         "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"},
        {"{containers: [{name: a}], initContainers: [{name: i, securityContext: {seLinuxOptions: {type: spc_t, user: u}}}]}",
         R"(seLinuxOptions (container "i" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set))"},
        {"{containers: [{name: a, livenessProbe: {httpGet: {host: 10.0.0.1, port: 80}}}]}",
         R"(probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1"))"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.spec);
        const std::string expected =
            *row.message ? "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": " + std::string(row.message) : "";
        EXPECT_EQ(answer(row.spec), expected);
    }
}

TEST_F(PodSecurityTest, RestrictedDemandsEveryPrecaution) {
    namespace_with({{"enforce", "restricted"}});
    EXPECT_EQ(answer(Hardened), "");
    EXPECT_EQ(
        answer(Harmless),
        "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": "
        "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false), "
        "unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]), "
        "runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true), "
        "seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")");
    Pod mounted = pod(Hardened);
    mounted.spec.volumes.emplace_back().name = "v";
    mounted.spec.volumes.back().host_path.emplace().path = "/";
    EXPECT_THAT(create(*plugin, mounted), HasSubstr("restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")"));
    Pod root = pod(Hardened);
    root.spec.containers[0].security_context->run_as_user = 0;
    EXPECT_THAT(create(*plugin, root), HasSubstr("runAsUser=0 (container \"a\" must not set runAsUser=0)"));
}

// SEC-19
TEST_F(PodSecurityTest, DoesNotDemandOfWindowsPodsWhatWindowsDoesNotKnow) {
    namespace_with({{"enforce", "restricted"}});
    EXPECT_EQ(answer("{os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: [{name: a}]}"), "");
    EXPECT_THAT(answer("{os: {name: windows}, containers: [{name: a}]}"), HasSubstr("runAsNonRoot != true"));
}

TEST_F(PodSecurityTest, APodWithUsersOfItsOwnMayBeRootInItsNamespace) {
    const auto with_users = [](std::string spec) { return spec.replace(0, 1, "{hostUsers: false, "); };
    const std::string unmasked = "{containers: [{name: a, securityContext: {procMount: Unmasked}}]}";
    const std::string root =
        "{securityContext: {runAsUser: 0, runAsNonRoot: false, seccompProfile: {type: RuntimeDefault}}, containers: "
        "[{name: a, securityContext: {runAsUser: 0, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}";
    const struct {
        const char *level, *version;
        std::string spec, refusal;
    } rows[] = {
        {"baseline", "latest", unmasked, "procMount"},
        {"baseline", "latest", with_users(unmasked), ""},
        {"baseline", "v1.35", with_users(unmasked), ""},
        {"baseline", "v1.34", with_users(unmasked), "procMount"},
        {"baseline", "latest", with_users(Ipc), "host namespaces"},
        {"restricted", "latest", with_users(unmasked), "procMount (container"},
        {"restricted", "latest", root, "runAsNonRoot != true"},
        {"restricted", "latest", root, "runAsUser=0"},
        {"restricted", "latest", with_users(root), ""},
        {"restricted", "v1.34", with_users(root), "runAsNonRoot != true"},
        {"restricted", "v1.34", with_users(root), "runAsUser=0"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.level) + " " + row.version + " " + row.spec);
        namespace_with({{"enforce", row.level}, {"enforce-version", row.version}});
        if (row.refusal.empty())
            EXPECT_EQ(answer(row.spec), "");
        else
            EXPECT_THAT(answer(row.spec), HasSubstr(row.refusal));
    }
}

TEST_F(PodSecurityTest, RulesOfAnEarlierReleaseAreFewer) {
    namespace_with({{"enforce", "baseline"}, {"enforce-version", "v1.24"}});
    EXPECT_EQ(answer("{containers: [{name: a, livenessProbe: {httpGet: {host: 10.0.0.1, port: 80}}}]}"), "");
    EXPECT_THAT(answer("{hostIPC: true, containers: [{name: a}]}"), HasSubstr("violates PodSecurity \"baseline:v1.24\""));
}

TEST_F(PodSecurityTest, WarnsAndAuditsWithoutRefusing) {
    namespace_with({{"warn", "restricted"}, {"audit", "baseline"}});
    EXPECT_EQ(answer("{hostIPC: true, containers: [{name: a}]}"), "");
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_THAT(warnings_[0], HasSubstr("would violate PodSecurity \"restricted:latest\": host namespaces (hostIPC=true), allowPrivilege"));
    EXPECT_EQ(audit_["pod-security.kubernetes.io/audit-violations"],
              "would violate PodSecurity \"baseline:latest\": host namespaces (hostIPC=true)");
    EXPECT_EQ(audit_["pod-security.kubernetes.io/enforce-policy"], "privileged:latest");
}

TEST_F(PodSecurityTest, WorkloadsAreMadeWithAWarning) {
    namespace_with({{"enforce", "restricted"}, {"warn", "restricted"}});
    auto deployment = named<api::apps::v1::Deployment>("ns", "d");
    deployment.spec.template_.spec = pod(Harmless).spec;
    EXPECT_EQ(create(*plugin, deployment), "");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("would violate PodSecurity \"restricted:latest\"")));
    auto scaled = deployment;
    scaled.spec.replicas = 7;
    EXPECT_EQ(update(*plugin, deployment, scaled), "");
    EXPECT_THAT(warnings_, IsEmpty()) << "the template is as it was";
}

TEST_F(PodSecurityTest, PodsThatAreThereMayStillChange) {
    namespace_with({{"enforce", "restricted"}});
    const Pod before = pod(Harmless);
    Pod labeled = before;
    labeled.metadata.labels["a"] = "b";
    EXPECT_EQ(update(*plugin, before, labeled), "");
    Pod other = before;
    other.spec.containers[0].image = "another";
    EXPECT_THAT(update(*plugin, before, other), HasSubstr("violates PodSecurity"));
}

TEST_F(PodSecurityTest, TighteningANamespaceTellsOfThePodsInIt) {
    for (const char* name : {"one", "two"}) {
        Pod there = pod("{hostIPC: true, containers: [{name: a}]}");
        there.metadata.name = name;
        put(there);
    }
    const Namespace before = named<Namespace>("", "ns");
    Namespace after = before;
    after.metadata.labels["pod-security.kubernetes.io/enforce"] = "baseline";
    EXPECT_EQ(update(*plugin, before, after), "");
    EXPECT_THAT(warnings_, ElementsAre("existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"",
                                       "one (and 1 other pod): host namespaces"));
    after.metadata.labels["pod-security.kubernetes.io/enforce"] = "strict";
    EXPECT_THAT(update(*plugin, before, after), HasSubstr("must be one of privileged, baseline, restricted"));
    after.metadata.labels = {{"pod-security.kubernetes.io/warn-version", "1.24"}};
    EXPECT_THAT(update(*plugin, before, after), HasSubstr("must be \"latest\" or \"v1.x\""));
}

TEST_F(PodSecurityTest, TheConfigurationSaysWhatHoldsWhereLabelsDoNot) {
    configure("defaults: {enforce: baseline, enforce-version: v1.24, warn: restricted}\n");
    namespace_with({});
    EXPECT_THAT(answer(Ipc), HasSubstr("violates PodSecurity \"baseline:v1.24\": host namespaces"));
    EXPECT_EQ(answer(Harmless), "");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("would violate PodSecurity \"restricted:latest\"")));
    namespace_with({{"enforce", "privileged"}});
    EXPECT_EQ(answer(Ipc), "") << "a label says otherwise";
}

TEST_F(PodSecurityTest, ExemptsUsersNamespacesAndRuntimeClassesAndTellsTheAuditLog) {
    namespace_with({{"enforce", "restricted"}});
    const struct {
        const char *exemption, *why;
    } rows[] = {
        {"exemptions: {namespaces: [ns]}", "namespace"},
        {"exemptions: {usernames: [jane]}", "user"},
        {"exemptions: {runtimeClasses: [vm]}", "runtimeClass"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.exemption);
        audit_.clear();
        configure(row.exemption);
        EXPECT_EQ(answer("{runtimeClassName: vm, hostIPC: true, containers: [{name: a}]}"), "");
        EXPECT_EQ(audit_["pod-security.kubernetes.io/exempt"], row.why);
    }
    configure("exemptions: {namespaces: [other], usernames: [bob], runtimeClasses: [other]}");
    EXPECT_NE(answer(Ipc), "");
}

TEST_F(PodSecurityTest, AConfigurationIsReadStrictly) {
    const struct {
        const char *yaml, *why;
    } rows[] = {
        {"defaults: {enforce: strict}", "defaults.enforce: Invalid value: \"strict\": must be one of privileged, baseline, restricted"},
        {"defaults: {warn-version: \"1.24\"}", "defaults.warn-version: Invalid value: \"1.24\": must be \"latest\" or \"v1.x\""},
        {"exemptions: {usernames: [\"\"]}", "exemptions.usernames[0]: Invalid value: \"\": username must not be empty"},
        {"exemptions: {namespaces: [a, a]}", "exemptions.namespaces[1]: Duplicate value: \"a\""},
        {"exemptions: {runtimeClasses: [\"A\"]}", "exemptions.runtimeClasses[0]: Invalid value: \"A\""},
        {"default: {}", "unknown field \"default\""},
    };
    for (const auto& row : rows) {
        const auto parsed = PodSecurityConfiguration::parse(*schema::parse_yaml(Head + std::string(row.yaml)));
        ASSERT_FALSE(parsed) << row.yaml;
        EXPECT_THAT(parsed.error().message, HasSubstr(row.why));
    }
    EXPECT_FALSE(PodSecurityConfiguration::parse(*schema::parse_yaml("{apiVersion: v1, kind: PodSecurityConfiguration}")));
}

}  // namespace
}  // namespace porthole::apiserver
