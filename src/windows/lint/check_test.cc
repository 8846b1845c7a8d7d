#include "windows/lint/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::windows::lint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> codes(std::string_view text, const Options& options = {}) {
    const auto checked = check(text, options);
    EXPECT_TRUE(checked) << checked.error().message;
    std::vector<std::string> found;
    if (checked)
        for (const Problem& one : checked->problems) found.emplace_back(one.rule->code);
    return found;
}

constexpr const char* Webserver = R"(# The web server of an early guide.
apiVersion: extensions/v1beta1
kind: Deployment
metadata:
  name: win-webserver
spec:
  replicas: 2
  template:
    metadata:
      labels:
        app: win-webserver
    spec:
      containers:
      - name: windowswebserver
        image: microsoft/windowsservercore:1709
        resources: {limits: {memory: 1Gi}}
      nodeSelector:
        beta.kubernetes.io/os: windows
)";

TEST(WindowsLint, ManifestsOfOlderVersionsAreRecognised) {
    EXPECT_THAT(codes(Webserver), ElementsAre("WIN701", "WIN702", "WIN706", "WIN703"));
    EXPECT_THAT(
        codes(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"scheduler.alpha.kubernetes.io/tolerations":"[]"}},
        "spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}})"),
        ElementsAre("WIN705"));
}

TEST(WindowsLint, ProblemsHavePlaces) {
    const auto checked = check(Webserver);
    ASSERT_TRUE(checked);
    const Problem& label = checked->problems.back();
    EXPECT_EQ(label.place.line, 18u);
    EXPECT_EQ(label.place.column, 9u);
    EXPECT_EQ(label.place.length, std::string_view("beta.kubernetes.io/os: windows").size());
    EXPECT_EQ(label.object, "Deployment win-webserver");
    EXPECT_TRUE(label.fixable);
    EXPECT_EQ(checked->problems[1].place.line, 6u) << "what is missing has the place of what should contain it";
}

TEST(WindowsLint, EveryKindWithPodsIsLookedInto) {
    const std::string pod = R"({"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"hostPID":true})";
    const std::string in_template = R"({"selector":{},"template":{"spec":)" + pod + "}}";
    const auto object = [](const char* version, const char* kind, const char* member, const std::string& value) {
        return std::string(R"({"apiVersion":")") + version + R"(","kind":")" + kind + R"(",")" + member + "\":" + value + "}";
    };
    for (const std::string& one :
         {object("v1", "Pod", "spec", pod), object("v1", "PodTemplate", "template", R"({"spec":)" + pod + "}"),
          object("v1", "ReplicationController", "spec", in_template), object("apps/v1", "ReplicaSet", "spec", in_template),
          object("apps/v1", "Deployment", "spec", in_template), object("apps/v1", "DaemonSet", "spec", in_template),
          object("apps/v1", "StatefulSet", "spec", in_template), object("batch/v1", "Job", "spec", in_template),
          object("batch/v1", "CronJob", "spec", R"({"jobTemplate":{"spec":)" + in_template + "}}")}) {
        SCOPED_TRACE(one);
        EXPECT_THAT(codes(one), ElementsAre("WIN102"));
        EXPECT_THAT(codes(R"({"apiVersion":"v1","kind":"List","items":[)" + one + "," + one + "]}"), ElementsAre("WIN102", "WIN102"));
    }
    EXPECT_THAT(codes(object("batch.example.com/v1", "Job", "spec", in_template)), IsEmpty()) << "another group's";
}

constexpr const char* ForNoSystem = R"({"apiVersion":"v1","kind":"Pod","spec":{"hostNetwork":true,"containers":[
    {"name":"a","resources":{"limits":{"cpu":"1"}}}]}})";

TEST(WindowsLint, TheUserSaysTheSystemOfPodsThatDoNot) {
    EXPECT_THAT(codes(ForNoSystem), ElementsAre("WIN601"));
    EXPECT_THAT(codes(ForNoSystem, {.system = "windows"}), ElementsAre("WIN101"));
    EXPECT_THAT(codes(ForNoSystem, {.system = "linux"}), IsEmpty());
    EXPECT_EQ(check(ForNoSystem, {.system = "windows"})->problems[0].because, "--os is windows");
}

TEST(WindowsLint, ARuntimeClassOfTheSameTextCounts) {
    const std::string text = R"(apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: windows-2022}
handler: runhcs-wcow-process
scheduling:
  nodeSelector: {kubernetes.io/os: windows}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  runtimeClassName: windows-2022
  hostPID: true
)";
    const auto checked = check(text);
    ASSERT_EQ(checked->problems.size(), 1u);
    EXPECT_EQ(checked->problems[0].rule->code, "WIN102");
    EXPECT_EQ(checked->problems[0].document, 1u);
    EXPECT_EQ(checked->problems[0].place.line, 13u);
    EXPECT_THAT(checked->problems[0].because, HasSubstr("runtimeClassName is windows-2022"));
}

TEST(WindowsLint, BuildAndNetworkAreConditions) {
    const std::string pod =
        "apiVersion: v1\nkind: Pod\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n  containers:\n"
        "  - {name: a, image: 'mcr.microsoft.com/windows/nanoserver:1809', resources: {limits: {cpu: 1}}}\n";
    EXPECT_THAT(codes(pod), IsEmpty());
    EXPECT_THAT(codes(pod, {.build = 20348}), ElementsAre("WIN505"));
    const std::string service = "apiVersion: v1\nkind: Service\nspec: {sessionAffinity: ClientIP, ipFamilies: [IPv6]}\n";
    EXPECT_THAT(codes(service), IsEmpty());
    EXPECT_THAT(codes(service, {.build = 17763, .network = PodNetwork::Overlay}), ElementsAre("WIN404", "WIN407"));
    EXPECT_THAT(codes(service, {.system = "linux", .build = 17763}), IsEmpty());
}

// SEC-11
TEST(WindowsLint, TheRuntimeIsACondition) {
    constexpr std::string_view Pod =
        "apiVersion: v1\nkind: Pod\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n  hostNetwork: true\n  containers:\n"
        "  - name: a\n    image: app:1\n    resources: {limits: {cpu: 1}}\n    securityContext: {windowsOptions: {hostProcess: true}}\n";
    for (const char* newer : {"", "containerd://1.6.20"}) EXPECT_THAT(codes(Pod, {.runtime = runtime_of(newer)}), IsEmpty()) << newer;
    for (const char* older : {"containerd://1.5.18", "docker://20.10.9"})
        EXPECT_THAT(codes(Pod, {.runtime = runtime_of(older)}), ElementsAre("WIN233")) << older;
}

// SEC-04
TEST(WindowsLint, AccountsHaveNamesThatKubernetesTakes) {
    const auto told = [](const std::string& name) {
        const auto checked = check(
            "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      nodeSelector: {kubernetes.io/os: windows}\n"
            "      containers: [{name: a, image: 'app:1', resources: {limits: {cpu: 1}}}]\n"
            "      securityContext:\n        windowsOptions:\n          runAsUserName: " +
            name + "\n");
        EXPECT_TRUE(checked) << checked.error().message;
        return checked && !checked->problems.empty() ? checked->problems.front().words : "";
    };
    const std::string words = "cannot be the name of an account of Windows: ";
    for (const char* good : {"ContainerUser", "'NT AUTHORITY\\SYSTEM'", "'contoso.example.com\\jane'"}) EXPECT_EQ(told(good), "") << good;
    EXPECT_EQ(told("''"), words + "runAsUserName cannot be an empty string");
    EXPECT_EQ(told("'a\\b\\c'"), words + "runAsUserName cannot contain more than one backslash");
    EXPECT_EQ(told("'.a\\jane'"), words + "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    EXPECT_EQ(told(std::string(105, 'a')), words + "runAsUserName's User length must not be longer than 104 characters");
    EXPECT_EQ(told("'a@b'"), words + "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    EXPECT_THAT(codes(R"({"apiVersion":"v1","kind":"Pod","spec":{"os":{"name":"linux"},"nodeSelector":{"kubernetes.io/os":"linux"},
        "initContainers":[{"securityContext":{"windowsOptions":{"runAsUserName":"a@b"}}}],
        "ephemeralContainers":[{"securityContext":{"windowsOptions":{"runAsUserName":"HOST\\"}}}]}})"),
                ElementsAre("WIN214", "WIN214"))
        << "whatever the system, in every list of containers";
}

TEST(WindowsLint, WhatIsNotAnObjectIsCountedAndLeft) {
    const auto checked = check("a: 1\n---\n- x\n---\napiVersion: v1\nkind: ConfigMap\n");
    EXPECT_EQ(checked->objects, 1u);
    EXPECT_EQ(checked->others, 2u);
    EXPECT_THAT(checked->problems, IsEmpty());
    EXPECT_EQ(check("")->objects, 0u);
}

TEST(WindowsLint, AFieldOfTheWrongTypeIsAProblemWithItsReason) {
    const auto checked = check("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostPID: often\n");
    ASSERT_EQ(checked->problems.size(), 1u);
    EXPECT_EQ(checked->problems[0].rule->code, "WIN901");
    EXPECT_THAT(checked->problems[0].words, HasSubstr("json: cannot unmarshal"));
}

TEST(WindowsLint, WhatCannotBeReadSaysWhatHelps) {
    EXPECT_THAT(check("a: [").error().message, HasSubstr("line"));
    EXPECT_THAT(check("a: {{ .Values.x }}\n b").error().message, HasSubstr("helm template"));
    EXPECT_THAT(check(std::string_view("\xFF\xFE"
                                       "a\0",
                                       4))
                    .error()
                    .message,
                HasSubstr("UTF-16"));
}

TEST(WindowsLint, JsonThatIsNotYamlHasNoPlaces) {
    const auto checked =
        check(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"\ud83d\ude00"},"spec":{"os":{"name":"windows"},"hostPID":true}})");
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->problems.size(), 2u);
}

}  // namespace
}  // namespace porthole::windows::lint
