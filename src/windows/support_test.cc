#include "windows/support.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "schema/json/json.h"
#include "windows/builds.h"
#include "windows/features.h"
#include "windows/references.h"
#include "windows/rules.h"

namespace porthole::windows {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Systems Mixed{.linux = true, .windows = true}, LinuxOnly{.linux = true}, WindowsOnly{.windows = true};

struct PodRow {
    const char* name;
    const char* fields;     ///< of the spec
    const char* container;  ///< of its container
    const char* code;       ///< "" where the table says nothing
};

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
        "spec.os: no operating system is given, so the pod may land on a Linux or a Windows node; set "
        "spec.os.name and nodeSelector[\"kubernetes.io/os\"] to linux or windows";
    constexpr const char* NotKept =
        "spec.os.name: does not choose the node, and a node of another system refuses the pod; set "
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

// POS-28, SEC-06, SEC-07, SEC-09
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

std::vector<std::string> codes_of(const std::vector<Finding>& findings) {
    std::vector<std::string> codes;
    for (const Finding& one : findings) codes.emplace_back(one.rule->code);
    return codes;
}

// STO-03, STO-11, STO-12, STO-13, STO-14, STO-16, STO-17, POD-27, LIM-25, LIM-27, LIM-28, LIM-29, LIM-30, LIM-31
TEST(WindowsSupport, VolumesAreWholeOnDiskAndOfTheContainerAlone) {
    const PodRow rows[] = {
        {"default medium", R"("volumes":[{"name":"v","emptyDir":{}}])", "", ""},
        {"memory", R"("volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}])", "", "WIN303"},
        {"huge pages as medium", R"("volumes":[{"name":"v","emptyDir":{"medium":"HugePages-2Mi"}}])", "", "WIN303"},
        {"nfs", R"("volumes":[{"name":"v","nfs":{"server":"s","path":"/"}}])", "", "WIN304"},
        {"sub path", "", R"(,"volumeMounts":[{"name":"v","mountPath":"C:\\v","subPath":"x"}])", "WIN305"},
        {"sub path by an expression", "", R"(,"volumeMounts":[{"name":"v","mountPath":"C:\\v","subPathExpr":"x"}])", "WIN306"},
        {"propagation", "", R"(,"volumeMounts":[{"name":"v","mountPath":"C:\\v","mountPropagation":"Bidirectional"}])", "WIN307"},
        {"propagation None", "", R"(,"volumeMounts":[{"name":"v","mountPath":"C:\\v","mountPropagation":"None"}])", ""},
        {"devices", "", R"(,"volumeDevices":[{"name":"v","devicePath":"/dev/x"}])", "WIN308"},
        {"usual mode", R"("volumes":[{"name":"v","configMap":{"name":"c","defaultMode":420}}])", "", ""},
        {"mode", R"("volumes":[{"name":"v","secret":{"secretName":"s","defaultMode":256}}])", "", "WIN312"},
        {"mode of an item", R"("volumes":[{"name":"v","configMap":{"name":"c","items":[{"key":"k","path":"p","mode":256}]}}])", "",
         "WIN315"},
        {"mode of a source's item",
         R"("volumes":[{"name":"v","projected":{"sources":[{"downwardAPI":{"items":[{"path":"p","mode":1}]}}]}}])", "", "WIN317"},
        {"items without modes", R"("volumes":[{"name":"v","configMap":{"name":"c","items":[{"key":"k","path":"p"}]}}])", "", ""},
    };
    for (const PodRow& row : rows) {
        SCOPED_TRACE(row.name);
        const auto found = find(windows_spec(row.fields, row.container), {}, "spec");
        if (*row.code)
            EXPECT_THAT(codes_of(found), ElementsAre(row.code));
        else
            EXPECT_THAT(codes_of(found), IsEmpty());
    }
    EXPECT_THAT(codes_of(find(spec_of(R"({"containers":[{"name":"a","resources":{"limits":{"hugepages-2Mi":"4Mi"}}}]})"), {}, "spec")),
                ElementsAre("WIN504"));
}

// STO-03, STO-11, STO-13, STO-14, STO-17, STO-30
TEST(WindowsSupport, TheReasonSaysWhoRefuses) {
    const core::PodSpec spec = windows_spec(
        R"("volumes":[{"name":"m","emptyDir":{"medium":"Memory"}},{"name":"n","nfs":{"server":"s","path":"/"}},{"name":"e","emptyDir":{}}])",
        R"(,"volumeMounts":[{"name":"e","mountPath":"/e","subPath":"x"}])");
    EXPECT_FALSE(Verdict::of(spec).refusal) << "the pod waits, and says for what";
    EXPECT_EQ(volume_refusal(spec.volumes[0]), "memory-backed emptyDir is not supported on Windows");
    EXPECT_EQ(volume_refusal(spec.volumes[1]), "NFS volumes are not supported on Windows");
    EXPECT_EQ(volume_refusal(spec.volumes[2]), "");
    EXPECT_EQ(container_refusal(spec.containers[0]), "sub-paths are not supported on Windows, where only whole volumes can be mounted");
    EXPECT_EQ(container_refusal(spec.containers[0], {"WindowsSubPath"}), "") << "the gate lifts it";

    const auto reason = [](const char* container) { return Verdict::of(windows_spec("", container)).refusal->reason; };
    EXPECT_EQ(reason(R"(,"volumeMounts":[{"name":"v","mountPath":"/v","mountPropagation":"HostToContainer"}])"),
              "MountPropagationUnsupported");
    EXPECT_EQ(reason(R"(,"volumeDevices":[{"name":"v","devicePath":"/d"}])"), "VolumeModeBlockUnsupported");
}

// STO-16
TEST(WindowsSupport, FilesHaveTheDefaultModeWhateverIsAsked) {
    const auto verdict = Verdict::of(windows_spec(
        R"("volumes":[{"name":"v","secret":{"secretName":"s","defaultMode":256,"items":[{"key":"k","path":"p","mode":256}]}}])"));
    ASSERT_THAT(verdict.notices, SizeIs(1));
    EXPECT_EQ(verdict.notices[0].message,
              "spec.volumes[0].secret.defaultMode: file modes have no effect on Windows; "
              "spec.volumes[0].secret.items: have a mode, and file modes have no effect on Windows "
              "(see docs/guide/windows_support.md#win312, #win316)");
    const core::SecretVolumeSource& effective = *verdict.effective->volumes[0].secret;
    EXPECT_EQ(effective.default_mode, 0644);
    EXPECT_FALSE(effective.items[0].mode);
}

// SEC-08, SEC-14, LIM-01, LIM-37
TEST(WindowsSupport, AnnotationsOfOlderVersionsCount) {
    const core::PodSpec spec = windows_spec("");
    const auto refused = Verdict::of(spec, {{"experimental.windows.kubernetes.io/isolation-type", "hyperv"}});
    EXPECT_EQ(refused.refusal->reason, "HyperVIsolationUnsupported");
    EXPECT_THAT(refused.refusal->message, HasSubstr("metadata.annotations[experimental.windows.kubernetes.io/isolation-type]: Hyper-V"));
    EXPECT_FALSE(Verdict::of(spec, {{"experimental.windows.kubernetes.io/isolation-type", "process"}}).refusal);
    EXPECT_THAT(warnings(spec, "spec.template.spec", Mixed, {{"container.apparmor.security.beta.kubernetes.io/a", "runtime/default"}}),
                ElementsAre("spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: "
                            "there is no AppArmor on Windows; remove it"));
    EXPECT_THAT(codes_of(find(spec, {{"seccomp.security.alpha.kubernetes.io/pod", "x"}, {"other", "x"}}, "spec")), ElementsAre("WIN232"));
}

// SEC-11, POD-18, LIM-24
TEST(WindowsSupport, RulesOfARuntimeHoldWhereItIs) {
    const core::PodSpec host = windows_spec(R"("hostNetwork":true,"securityContext":{"windowsOptions":{"hostProcess":true}})");
    const core::PodSpec own = windows_spec(R"("terminationGracePeriodSeconds":60)", R"(,"terminationMessagePath":"C:\\last")");
    const auto codes = [](const core::PodSpec& spec, const char* runtime) {
        return codes_of(find(spec, {}, "spec", {.runtime = runtime_of(runtime)}));
    };
    for (const char* one : {"", "containerd://1.6.20", "porthole-wine://0.1.0"}) {
        EXPECT_THAT(codes(host, one), IsEmpty()) << one;
        EXPECT_THAT(codes(own, one), IsEmpty()) << one;
    }
    EXPECT_THAT(codes(host, "containerd://1.5.18"), ElementsAre("WIN213"));
    EXPECT_THAT(codes(own, "containerd://1.5.18"), IsEmpty());
    EXPECT_THAT(codes(own, "docker://20.10.9"), ElementsAre("WIN506", "WIN507"));
    EXPECT_THAT(
        codes(windows_spec(R"("terminationGracePeriodSeconds":30)", R"(,"terminationMessagePath":"/dev/termination-log")"), "docker"),
        IsEmpty())
        << "what every pod has";
    const Verdict verdict = Verdict::of(host, {}, {}, {.runtime = runtime_of("containerd://1.5.18")});
    EXPECT_EQ(verdict.refusal->reason, "HostProcessUnsupported");
    EXPECT_FALSE(Verdict::of(host).refusal);
}

TEST(WindowsSupport, LimitsOfWindowsAreLinesLikeOthersAndFoundInNoObject) {
    for (const char* code : {"WIN421", "WIN422", "WIN423", "WIN424", "WIN425"}) {
        ASSERT_NE(find_rule(code), nullptr) << code;
        EXPECT_EQ(find_rule(code)->outcome, Outcome::Reproduced) << code;
        EXPECT_THAT(support_table(), HasSubstr("<a id=\"" + to_lower(code) + "\">"));
    }
    EXPECT_EQ(text_of(Outcome::Reproduced), "reproduced");
    for (const PodRule& one : pod_rules()) EXPECT_NE(one.rule.outcome, Outcome::Reproduced) << one.rule.code;
    for (const ServiceRule& one : service_rules()) EXPECT_NE(one.rule.outcome, Outcome::Reproduced) << one.rule.code;
}

// IMG-05
TEST(WindowsSupport, ImagesOfAnotherBuildAreRefusedWhereTheBuildIsKnown) {
    core::PodSpec spec = windows_spec("");
    spec.containers[0].image = "mcr.microsoft.com/windows/nanoserver:1809";
    const auto codes = [&](std::uint32_t build) { return codes_of(find(spec, {}, "spec", {.build = build})); };
    EXPECT_THAT(codes(0), IsEmpty());
    EXPECT_THAT(codes(17763), IsEmpty());
    EXPECT_THAT(codes(20348), ElementsAre("WIN505"));
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

// TRB-21
TEST(WindowsSupport, EveryEventOfANodeSaysWhereTheGuideDescribesIt) {
    const Verdict verdict =
        Verdict::of(windows_spec(R"("hostPID":true,"hostNetwork":true,"securityContext":{"runAsUser":1,"fsGroup":2})",
                                 R"(,"securityContext":{"runAsUser":1}},{"name":"b","securityContext":{"runAsUser":1})"));
    EXPECT_THAT(verdict.refusal->message, testing::EndsWith(" (see docs/guide/windows_support.md#win102)"));
    ASSERT_THAT(verdict.notices, SizeIs(2));
    EXPECT_THAT(verdict.notices[0].message, testing::EndsWith(" (see docs/guide/windows_support.md#win101)"));
    EXPECT_THAT(verdict.notices[1].message, testing::EndsWith(" (see docs/guide/windows_support.md#win204, #win207, #win227)"));
    for (const Rule& rule : rules())
        if (!rule.reason.empty())
            EXPECT_THAT(support_table(), HasSubstr("<a id=\"" + anchor_of(rule).substr(anchor_of(rule).find('#') + 1) + "\">"));
}

// SCH-03
TEST(WindowsSupport, NamesOfSystemsAreInSmallLetters) {
    const auto with = [](const char* value) {
        return warnings(spec_of(std::string(R"({"nodeSelector":{"kubernetes.io/os":")") + value + R"("}})"), "spec", Mixed);
    };
    EXPECT_THAT(with("Windows"), ElementsAre(HasSubstr("spec.nodeSelector[kubernetes.io/os]: has capital letters")));
    EXPECT_THAT(with("linux"), IsEmpty());
    EXPECT_THAT(with("Plan9"), IsEmpty()) << "a system of somebody's own";
}

// POD-22, LIM-58
TEST(WindowsSupport, NamesOfDotNetSettingsHaveUnderscores) {
    EXPECT_THAT(warnings(windows_spec("", R"(,"env":[{"name":"Logging:Level","value":"x"}])"), "spec", Mixed),
                ElementsAre(AllOf(HasSubstr("spec.containers[0].env: "), HasSubstr("'__'"))));
    EXPECT_THAT(warnings(windows_spec("", R"(,"env":[{"name":"Logging__Level","value":"a:b"}])"), "spec", Mixed), IsEmpty());
}

// POD-22, LIM-58
TEST(WindowsSupport, AColonInANameIsToldOnEverySystemAndByTheKubelet) {
    const core::PodSpec spec =
        spec_of(R"({"nodeSelector":{"kubernetes.io/os":"linux"},"containers":[{"name":"a","env":[{"name":"A:B","value":"x"}]}]})");
    EXPECT_THAT(warnings(spec, "spec", Mixed), ElementsAre(HasSubstr("spec.containers[0].env: has a name with ':'")));
    const Verdict verdict = Verdict::of(spec);
    ASSERT_THAT(verdict.notices, SizeIs(1));
    EXPECT_EQ(verdict.notices[0].reason, "EnvironmentNameWithColon");
    EXPECT_THAT(verdict.notices[0].message, HasSubstr("'__'"));
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

// SVC-12, SVC-13, NET-37, LIM-21
TEST(WindowsSupport, ServicesDependOnBuildAndNetwork) {
    const auto codes = [](const char* spec, Conditions conditions) {
        conditions.systems = Mixed;
        return codes_of(find(schema::decode_json<core::Service>(std::string(R"({"spec":)") + spec + "}").value(), conditions));
    };
    constexpr const char* Sticky = R"({"sessionAffinity":"ClientIP"})";
    EXPECT_THAT(codes(Sticky, {.build = 17763}), ElementsAre("WIN404"));
    EXPECT_THAT(codes(Sticky, {.build = 20348}), IsEmpty());
    EXPECT_THAT(codes(Sticky, {}), IsEmpty()) << "nothing is said where the build is not known";
    constexpr const char* Ipv6 = R"({"ipFamilies":["IPv4","IPv6"]})";
    EXPECT_THAT(codes(Ipv6, {.network = PodNetwork::Overlay}), ElementsAre("WIN407"));
    EXPECT_THAT(codes(Ipv6, {.network = PodNetwork::L2Bridge}), IsEmpty());
    EXPECT_THAT(codes(R"({"loadBalancerSourceRanges":["10.0.0.0/8"],"ports":[{"port":1,"protocol":"SCTP"}]})", {}),
                ElementsAre("WIN405", "WIN406"));
}

// API-23
TEST(WindowsSupport, EveryRuleHasACodeAndARemedy) {
    std::set<std::string_view> codes;
    std::set<std::pair<std::string_view, std::string_view>> lines;
    for (const Rule& rule : rules()) {
        SCOPED_TRACE(rule.code);
        EXPECT_TRUE(codes.insert(rule.code).second);
        EXPECT_TRUE(lines.insert({rule.field, rule.words}).second) << rule.field;
        EXPECT_TRUE(rule.code.starts_with("WIN") && rule.code.size() == 6);
        EXPECT_TRUE(rule.field.starts_with("spec") || rule.field.starts_with("metadata.annotations[") ||
                    std::set<std::string_view>({"apiVersion", "kind", "status.podIP", "evictionSoft"}).contains(rule.field))
            << rule.field;
        EXPECT_FALSE(rule.words.empty() || rule.remedy.empty() || rule.since.empty());
        EXPECT_FALSE(rule.words.contains('|') || rule.remedy.contains('|')) << "the guide has it in a table";
        EXPECT_EQ(find_rule(rule.code), &rule);
    }
    EXPECT_EQ(find_rule("WIN000"), nullptr);
    EXPECT_EQ(anchor_of(*find_rule("WIN101")), "docs/guide/windows_support.md#win101");
}

// API-23
TEST(WindowsSupport, FeaturesSayWhatIsEnforced) {
    const auto build_of = [](std::string_view feature) {
        const auto found = std::ranges::find(features(), feature, &FeatureSupport::feature);
        return found == features().end() ? 0 : found->build;
    };
    for (const FeatureSupport& one : features()) {
        EXPECT_GE(one.build, OldestBuild) << one.feature;
        EXPECT_FALSE(one.since.empty() || one.note.empty()) << one.feature;
    }
    const auto service = schema::decode_json<core::Service>(R"({"spec":{"sessionAffinity":"ClientIP"}})").value();
    const auto codes = [&](std::uint32_t build) { return codes_of(find(service, {.systems = Mixed, .build = build})); };
    const std::uint32_t affinity = build_of("session affinity of services");
    EXPECT_THAT(codes(affinity - 1), ElementsAre("WIN404"));
    EXPECT_THAT(codes(affinity), IsEmpty());
    EXPECT_EQ(unknown_build("10.0." + std::to_string(build_of("Windows nodes and containers"))), "");
}

TEST(WindowsSupport, TheUserGuideShowsTheTable) {
    const std::string path = PORTHOLE_SOURCE_DIR "/docs/guide/windows_support.md";
    if (std::getenv("PORTHOLE_WRITE_GOLDEN")) std::ofstream(path) << support_table();
    std::ifstream file(path);
    const std::string written{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(written, support_table()) << "write it again: PORTHOLE_WRITE_GOLDEN=1 build/dev/tests/windows_test";
}

}  // namespace
}  // namespace porthole::windows
