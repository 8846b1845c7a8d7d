#include "windows/support.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::windows {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Systems Mixed{.linux = true, .windows = true}, LinuxOnly{.linux = true}, WindowsOnly{.windows = true};

core::PodSpec spec_of(const std::string& json) { return schema::decode_json<core::PodSpec>(json).value(); }

/// A pod for Windows in every way, with `fields` beside.
core::PodSpec windows_spec(const std::string& fields, const std::string& container = "") {
    return spec_of(R"({"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[
        {"name":"a","resources":{"limits":{"memory":"1Gi"}})" +
                   container + "}]" + (fields.empty() ? "" : ",") + fields + "}");
}

// SCH-05, SCH-07
TEST(WindowsSupport, APodSaysWhereItBelongs) {
    constexpr const char* Either =
        "spec.os: the cluster has Linux and Windows nodes and the pod may land on either: set spec.os.name and "
        "nodeSelector[\"kubernetes.io/os\"]";
    constexpr const char* NotKept =
        "spec.os.name: does not choose the node, and a node of another system refuses the pod: set "
        "nodeSelector[\"kubernetes.io/os\"] too";
    struct {
        const char* name;
        const char* spec;
        Systems systems;
        const char* warning;
    } const rows[] = {
        {"nothing said", R"({})", Mixed, Either},
        {"nothing said, one system", R"({})", LinuxOnly, ""},
        {"bound by hand", R"({"nodeName":"n"})", Mixed, ""},
        {"selector", R"({"nodeSelector":{"kubernetes.io/os":"linux"}})", Mixed, ""},
        {"old selector", R"({"nodeSelector":{"beta.kubernetes.io/os":"linux"}})", Mixed, ""},
        {"name only", R"({"os":{"name":"linux"}})", Mixed, NotKept},
        {"name only, one system", R"({"os":{"name":"linux"}})", LinuxOnly, ""},
        {"name of the system that is not there", R"({"os":{"name":"windows"}})", LinuxOnly, NotKept},
        {"name only, windows alone", R"({"os":{"name":"windows"}})", WindowsOnly, ""},
        {"name and other selector", R"({"os":{"name":"linux"},"nodeSelector":{"kubernetes.io/os":"windows"}})", Mixed, NotKept},
        {"name and affinity", R"({"os":{"name":"linux"},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/os","operator":"In","values":["linux"]}]}]}}}})",
         Mixed, ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto told = warnings(spec_of(row.spec), "spec", row.systems);
        EXPECT_EQ(told.empty() ? "" : told.front(), row.warning);
    }
}

TEST(WindowsSupport, TemplatesAreNamedByTheirPath) {
    EXPECT_THAT(warnings(spec_of(R"({})"), "spec.template.spec", Mixed), ElementsAre(HasSubstr("spec.template.spec.os: ")));
    EXPECT_THAT(warnings(windows_spec(R"("hostNetwork":true)"), "spec.template.spec", Mixed),
                ElementsAre(HasSubstr("spec.template.spec.hostNetwork: ")));
}

TEST(WindowsSupport, OnlyPodsForWindowsAreToldOfIt) {
    EXPECT_THAT(warnings(spec_of(R"({"hostNetwork":true,"nodeSelector":{"kubernetes.io/os":"linux"}})"), "spec", Mixed), IsEmpty());
    EXPECT_THAT(warnings(windows_spec(""), "spec", Mixed), IsEmpty());
}

// POD-24
TEST(WindowsSupport, HostNetworkIsIgnoredUnlessProcessesAreTheHosts) {
    core::PodSpec spec = windows_spec(R"("hostNetwork":true)");
    EXPECT_THAT(warnings(spec, "spec", Mixed), ElementsAre(HasSubstr("spec.hostNetwork: ")));
    const Verdict verdict = Verdict::of(spec);
    EXPECT_EQ(verdict.notices.at(0).reason, "HostNetworkUnsupported");
    EXPECT_FALSE(verdict.effective->host_network);

    core::PodSpec host = windows_spec(R"("hostNetwork":true,"securityContext":{"windowsOptions":{"hostProcess":true}})");
    EXPECT_FALSE(Verdict::of(host).effective);
}

// POD-29, DNS-09
TEST(WindowsSupport, NamesAreAskedOfTheClusterWithOneSuffix) {
    core::PodSpec spec = windows_spec(R"("dnsPolicy":"ClusterFirstWithHostNet","dnsConfig":{"searches":["b.example"]})");
    const Verdict verdict = Verdict::of(spec);
    ASSERT_THAT(verdict.notices, SizeIs(2));
    EXPECT_EQ(verdict.notices[0].reason, "UnsupportedDNSPolicy");
    EXPECT_EQ(verdict.notices[1].reason, "DNSConfigForming");
    EXPECT_EQ(verdict.effective->dns_policy, "ClusterFirst");
    EXPECT_THAT(verdict.effective->dns_config->searches, SizeIs(1)) << "advice changes nothing";
    EXPECT_THAT(Verdict::of(windows_spec(R"("dnsPolicy":"None","dnsConfig":{"searches":["only.example"]})")).notices, IsEmpty());
}

// POS-28
TEST(WindowsSupport, OneEventNamesEveryIgnoredField) {
    core::PodSpec spec = spec_of(R"({"securityContext":{"runAsUser":1,"fsGroup":2,"runAsNonRoot":true},"containers":[
        {"name":"a","securityContext":{"readOnlyRootFilesystem":true}},{"name":"b","securityContext":{"capabilities":{"add":["X"]}}}],
        "initContainers":[{"name":"c","securityContext":{"runAsGroup":3}}]})");
    const Verdict verdict = Verdict::of(spec);
    ASSERT_THAT(verdict.notices, SizeIs(1));
    EXPECT_EQ(verdict.notices[0].reason, "WindowsFieldIgnored");
    for (const char* field :
         {"spec.securityContext.runAsUser", "spec.securityContext.fsGroup", "spec.containers[0].securityContext.readOnlyRootFilesystem",
          "spec.containers[1].securityContext.capabilities", "spec.initContainers[0].securityContext.runAsGroup"})
        EXPECT_THAT(verdict.notices[0].message, HasSubstr(field));
    ASSERT_TRUE(verdict.effective);
    EXPECT_EQ(verdict.effective->security_context->run_as_non_root, true);
    EXPECT_THAT(Verdict::of(*verdict.effective).notices, IsEmpty());
    EXPECT_FALSE(Verdict::of(*verdict.effective).effective);
}

// POD-25, POD-26, POD-28
TEST(WindowsSupport, SharedProcessesAndPrivilegeAreRefused) {
    EXPECT_EQ(Verdict::of(spec_of(R"({"hostPID":true})")).refusal->reason, "HostPIDUnsupported");
    EXPECT_EQ(Verdict::of(spec_of(R"({"hostIPC":true})")).refusal->reason, "HostIPCUnsupported");
    EXPECT_THAT(Verdict::of(spec_of(R"({"shareProcessNamespace":true})")).refusal->message, HasSubstr("spec.shareProcessNamespace: "));
    EXPECT_FALSE(Verdict::of(spec_of(R"({"shareProcessNamespace":false})")).refusal);
    const core::PodSpec spec = spec_of(R"({"containers":[{"name":"a","securityContext":{"privileged":true}},{"name":"b"}]})");
    EXPECT_FALSE(Verdict::of(spec).refusal) << "the container's status says it";
    EXPECT_EQ(container_refusal(spec.containers[0]), "privileged containers are not supported on Windows");
    EXPECT_EQ(container_refusal(spec.containers[1]), "");
}

// KBL-16, KBL-35
TEST(WindowsSupport, MemoryThatCannotBeGuaranteedDrawsAdvice) {
    const auto with = [](const char* resources) {
        return warnings(spec_of(std::string(R"({"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[{"name":"a","resources":)") +
                                resources + R"(},{"name":"b","resources":{"limits":{"cpu":"1"}}}]})"),
                        "spec", Mixed);
    };
    EXPECT_THAT(with(R"({"requests":{"memory":"1Gi"},"limits":{"memory":"2Gi"}})"),
                ElementsAre(HasSubstr("spec.containers[0].resources.requests[memory]: differs from the limit")));
    EXPECT_THAT(with(R"({"requests":{"memory":"1024Mi"},"limits":{"memory":"1Gi"}})"), IsEmpty());
    EXPECT_THAT(with(R"({"limits":{"memory":"1Gi"}})"), IsEmpty());
    EXPECT_THAT(with(R"({})"), ElementsAre(HasSubstr("spec.containers[0].resources: without requests or limits")));
}

// POD-22
TEST(WindowsSupport, NamesOfDotNetSettingsHaveUnderscores) {
    EXPECT_THAT(warnings(windows_spec("", R"(,"env":[{"name":"Logging:Level","value":"x"}])"), "spec", Mixed),
                ElementsAre(AllOf(HasSubstr("spec.containers[0].env: "), HasSubstr("'__'"))));
    EXPECT_THAT(warnings(windows_spec("", R"(,"env":[{"name":"Logging__Level","value":"a:b"}])"), "spec", Mixed), IsEmpty());
}

// POD-22
TEST(WindowsSupport, AColonInANameIsToldOnEverySystemAndByTheKubelet) {
    const core::PodSpec spec =
        spec_of(R"({"nodeSelector":{"kubernetes.io/os":"linux"},"containers":[{"name":"a","env":[{"name":"A:B","value":"x"}]}]})");
    EXPECT_THAT(warnings(spec, "spec", Mixed), ElementsAre(HasSubstr("spec.containers[0].env: has a name with ':'")));
    const Verdict verdict = Verdict::of(spec);
    ASSERT_THAT(verdict.notices, SizeIs(1));
    EXPECT_EQ(verdict.notices[0].reason, "EnvironmentNameWithColon");
    EXPECT_FALSE(verdict.effective) << "it is taken as it stands";
}

// POD-12
TEST(WindowsSupport, NamedPipesAreMountedAtNamesOfPipes) {
    struct {
        const char* name;
        const char* source;
        const char* mount_path;
        bool told;
    } const rows[] = {
        {"pipe at pipe", R"("path":"\\\\.\\pipe\\a")", R"(\\\\.\\pipe\\b)", false},
        {"folder at folder", R"("path":"C:\\a","type":"Directory")", R"(C:\\b)", false},
        {"pipe at folder", R"("path":"\\\\.\\pipe\\a")", R"(C:\\b)", true},
        {"folder at pipe", R"("path":"C:\\a")", R"(\\\\.\\pipe\\b)", true},
        {"pipe with a type", R"("path":"\\\\.\\pipe\\a","type":"Socket")", R"(\\\\.\\pipe\\b)", true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto told = warnings(windows_spec(std::string(R"("volumes":[{"name":"v","hostPath":{)") + row.source + "}}]",
                                                std::string(R"(,"volumeMounts":[{"name":"v","mountPath":")") + row.mount_path + "\"}]"),
                                   "spec", Mixed);
        if (row.told)
            EXPECT_THAT(told, ElementsAre(HasSubstr("can be mounted at \\\\.\\pipe\\NAME only")));
        else
            EXPECT_THAT(told, IsEmpty());
    }
}

// KBL-35
TEST(WindowsSupport, AdviceIsGivenOnceAPod) {
    const auto told =
        warnings(spec_of(R"({"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[{"name":"a"},{"name":"b"}]})"), "spec", Mixed);
    EXPECT_THAT(told, ElementsAre(HasSubstr("spec.containers[0].resources, spec.containers[1].resources: ")));
}

// SVC-14
TEST(WindowsSupport, AServicesAffinityTimeoutCountsOnLinuxOnly) {
    const auto with = [](int seconds, Systems systems) {
        return warnings(schema::decode_json<core::Service>(R"({"spec":{"sessionAffinityConfig":{"clientIP":{"timeoutSeconds":)" +
                                                           std::to_string(seconds) + "}}}}")
                            .value(),
                        systems);
    };
    EXPECT_THAT(with(60, Mixed), ElementsAre(HasSubstr("spec.sessionAffinityConfig.clientIP.timeoutSeconds: has no effect on Windows")));
    EXPECT_THAT(with(10800, Mixed), IsEmpty());
    EXPECT_THAT(with(60, LinuxOnly), IsEmpty());
}

TEST(WindowsSupport, EveryFieldHasOneRule) {
    std::set<std::string_view> fields;
    for (const Rule& rule : rules()) {
        EXPECT_TRUE(fields.insert(rule.field).second) << rule.field;
        EXPECT_TRUE(rule.field.starts_with("spec")) << rule.field;
        EXPECT_FALSE(rule.words.empty()) << rule.field;
    }
}

TEST(WindowsSupport, TheUserGuideShowsTheTable) {
    const std::string path = PORTHOLE_SOURCE_DIR "/docs/guide/windows_support.md";
    if (std::getenv("PORTHOLE_WRITE_GOLDEN")) std::ofstream(path) << support_table();
    std::ifstream file(path);
    const std::string written{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(written, support_table()) << "write it again: PORTHOLE_WRITE_GOLDEN=1 build/dev/tests/windows_support_test";
}

}  // namespace
}  // namespace porthole::windows
