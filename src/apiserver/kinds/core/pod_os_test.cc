#include <algorithm>

#include "apiserver/kinds/rules_fixture.h"
#include "windows/support.h"

namespace porthole::apiserver {
namespace {

struct PodOsRules : testing::Test {
    RulesOf pods{"", "v1", "Pod", "spec: {os: {name: windows}, containers: [{name: c, image: i}]}"};
    RulesOf deployments{"apps", "v1", "Deployment",
                        "spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, "
                        "spec: {os: {name: windows}, containers: [{name: c, image: i}]}}}"};
};

/// A value that each field may have elsewhere. "" for a flag.
std::string some_value(std::string_view field) {
    const std::pair<std::string_view, const char*> values[] = {
        {"seLinuxOptions", "{level: s0}"},
        {"seccompProfile", "{type: RuntimeDefault}"},
        {"fsGroup", "0"},
        {"fsGroupChangePolicy", "Always"},
        {"sysctls", "[{name: kernel.shm_rmid_forced, value: '0'}]"},
        {"runAsUser", "0"},
        {"runAsGroup", "0"},
        {"supplementalGroups", "[1]"},
        {"supplementalGroupsPolicy", "Merge"},
        {"seLinuxChangePolicy", "MountOption"},
        {"appArmorProfile", "{type: RuntimeDefault}"},
        {"capabilities", "{drop: [ALL]}"},
        {"procMount", "Default"},
        {"hostPID", "true"},
        {"hostIPC", "true"},
    };
    for (const auto& [name, value] : values)
        if (name == field) return value;
    return "false";  // set, although it asks for nothing
}

/// "spec.containers[*].securityContext.x" as a patch on the pod, with `containers` for the list's name.
std::string patch_of(std::string_view field, std::string_view list = "containers") {
    const std::string leaf(field.substr(field.rfind('.') + 1));
    std::string inner = leaf + ": " + some_value(leaf);
    if (field.contains(".securityContext.")) inner = "securityContext: {" + inner + "}";
    if (!field.contains("[*]")) return "spec: {" + inner + "}";
    return "spec: {" + std::string(list) + ": [{name: x, image: i, " + inner + "}]}";
}

std::string path_of(std::string_view field, std::string_view list = "containers") {
    const std::string_view all = "containers[*]";
    const std::size_t at = field.find(all);
    if (at == field.npos) return std::string(field);
    return std::string(field.substr(0, at)) + std::string(list) + "[0]" + std::string(field.substr(at + all.size()));
}

bool is_refused_by_the_api(const windows::Rule& rule) {
    constexpr std::string_view OfThePod[] = {"spec.hostPID", "spec.hostIPC", "spec.shareProcessNamespace", "spec.hostUsers"};
    if (rule.field.contains(".windowsOptions.")) return false;  // which Windows has
    return rule.field.contains("ecurityContext.") || std::ranges::find(OfThePod, rule.field) != std::end(OfThePod);
}

// POS-04, POS-05, POS-06, POS-07, POS-08, POS-09, POS-10, POS-11, POS-12, POS-13, POS-14, POS-15, POS-16, POS-17, POS-18, POS-19, POS-20,
// POS-21, POS-22, POS-23, POS-25, STO-09, LIM-26: the API refuses what the table says Windows has not, by the same paths.
TEST_F(PodOsRules, WhatWindowsHasNotIsForbidden) {
    int fields = 0;
    for (const windows::Rule& rule : windows::rules()) {
        if (!is_refused_by_the_api(rule)) continue;
        SCOPED_TRACE(rule.field);
        ++fields;
        EXPECT_EQ(pods.create(patch_of(rule.field).c_str()), path_of(rule.field) + ": Forbidden: cannot be set for a windows pod");
    }
    EXPECT_EQ(fields, 25);
    for (const char* field : {"spec.hostPID",
                              "spec.hostIPC",
                              "spec.securityContext.seLinuxOptions",
                              "spec.securityContext.seccompProfile",
                              "spec.securityContext.fsGroup",
                              "spec.securityContext.fsGroupChangePolicy",
                              "spec.securityContext.sysctls",
                              "spec.shareProcessNamespace",
                              "spec.securityContext.runAsUser",
                              "spec.securityContext.runAsGroup",
                              "spec.securityContext.supplementalGroups",
                              "spec.containers[*].securityContext.seLinuxOptions",
                              "spec.containers[*].securityContext.seccompProfile",
                              "spec.containers[*].securityContext.capabilities",
                              "spec.containers[*].securityContext.readOnlyRootFilesystem",
                              "spec.containers[*].securityContext.privileged",
                              "spec.containers[*].securityContext.allowPrivilegeEscalation",
                              "spec.containers[*].securityContext.procMount",
                              "spec.containers[*].securityContext.runAsUser",
                              "spec.containers[*].securityContext.runAsGroup"})
        EXPECT_EQ(
            std::ranges::count_if(windows::rules(), [&](const auto& one) { return one.field == field && is_refused_by_the_api(one); }), 1)
            << field;
}

// POS-24
TEST_F(PodOsRules, InitContainersAndTemplatesKeepTheSameRules) {
    EXPECT_EQ(pods.create(patch_of("spec.containers[*].securityContext.runAsUser", "initContainers").c_str()),
              "spec.initContainers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod");
    EXPECT_EQ(deployments.create("spec: {template: {spec: {securityContext: {fsGroup: 1}}}}"),
              "spec.template.spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod");
}

// POS-03
TEST_F(PodOsRules, AllViolationsAreToldTogether) {
    const std::string told = pods.create("spec: {hostPID: true, securityContext: {runAsUser: 0, fsGroup: 0}}");
    for (const char* path : {"spec.hostPID", "spec.securityContext.runAsUser", "spec.securityContext.fsGroup"})
        EXPECT_NE(told.find(std::string(path) + ": Forbidden"), told.npos) << told;
}

// POS-01, POS-26, POS-27
TEST_F(PodOsRules, TheSystemDecides) {
    expect_answers(
        pods, {
                  {"another system", "spec: {os: {name: plan9}}",
                   "spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""},
                  {"linux", "spec: {os: {name: linux}, securityContext: {runAsUser: 1}}", ""},
                  {"windows options of a linux pod", "spec: {os: {name: linux}, securityContext: {windowsOptions: {runAsUserName: a}}}",
                   "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"},
                  {"windows options of a linux container",
                   "spec: {os: {name: linux}, containers: [{name: c, image: i, securityContext: {windowsOptions: {runAsUserName: a}}}]}",
                   "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"},
                  {"what windows has", "spec: {securityContext: {runAsNonRoot: true, windowsOptions: {runAsUserName: ContainerUser}}}", ""},
                  {"none is said", "spec: {os: null, securityContext: {runAsUser: 1, windowsOptions: {runAsUserName: ContainerUser}}}", ""},
              });
}

// SEC-04
TEST_F(PodOsRules, SEC04_TheNameOfAnAccountIsOneOfWindows) {
    const auto told = [&](const std::string& name) {
        return pods.create(
            ("spec: {containers: [{name: c, image: i, securityContext: {windowsOptions: {runAsUserName: " + name + "}}}]}").c_str());
    };
    for (const char* good : {"ContainerUser", "'NT AUTHORITY\\SYSTEM'", "'contoso.example.com\\jane'", "'a user'"})
        EXPECT_EQ(told(good), "") << good;
    const std::string field = "spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: ";
    const struct {
        std::string name;
        const char* why;
    } rows[] = {
        {"''", "runAsUserName cannot be an empty string"},
        {"\"a\\x07\"", "runAsUserName cannot contain control characters"},
        {"'a\\b\\c'", "runAsUserName cannot contain more than one backslash"},
        {"'.a\\jane'", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"},
        {"'\\jane'", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"},
        {"'HOST\\'", "runAsUserName's User cannot be empty"},
        {std::string(105, 'a'), "runAsUserName's User length must not be longer than 104 characters"},
        {"'. .'", "runAsUserName's User cannot contain only periods or spaces"},
        {"'a@b'", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"},
    };
    for (const auto& row : rows) {
        const std::string answer = told(row.name);
        EXPECT_TRUE(answer.starts_with(field)) << answer;
        EXPECT_TRUE(answer.ends_with(row.why)) << answer;
    }
    EXPECT_NE(pods.create("spec: {securityContext: {windowsOptions: {gmsaCredentialSpecName: Upper, gmsaCredentialSpec: ''}}}")
                  .find("gmsaCredentialSpec cannot be an empty string"),
              std::string::npos);
    EXPECT_NE(deployments.create("spec: {template: {spec: {securityContext: {windowsOptions: {runAsUserName: 'a@b'}}}}}")
                  .find("spec.template.spec.securityContext.windowsOptions.runAsUserName"),
              std::string::npos);
}

// POS-29
TEST_F(PodOsRules, TheSystemStays) {
    EXPECT_NE(pods.update("spec: {os: {name: linux}}").find("spec: Forbidden: pod updates may not change fields"), std::string::npos);
}

}  // namespace
}  // namespace porthole::apiserver
