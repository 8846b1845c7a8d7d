#include "windows/lint/fix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::windows::lint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string fixed(std::string_view text) {
    const auto made = fix(text);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return "";
    const auto again = fix(made->text);
    EXPECT_EQ(again->text, made->text) << "it is stable";
    EXPECT_EQ(again->edits, 0u);
    return made->text;
}

/// A pod for Windows with these lines in its spec.
std::string pod(const std::string& lines) {
    return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n" +
           lines;
}

TEST(WindowsFix, OldManifestsAreMended) {
    EXPECT_EQ(fixed(R"(# The web server of an early guide.
apiVersion: extensions/v1beta1  # of its time
kind: Deployment
metadata:
  name: win-webserver
spec:
  replicas: 2
  # the pods
  template:
    metadata:
      labels:
        app: win-webserver
    spec:
      containers:
      - name: windowswebserver
        image: "microsoft/windowsservercore:1709"
        resources: {limits: {memory: 1Gi}}
      nodeSelector:
        # Windows only
        beta.kubernetes.io/os: windows
)"),
              R"(# The web server of an early guide.
apiVersion: apps/v1  # of its time
kind: Deployment
metadata:
  name: win-webserver
spec:
  replicas: 2
  selector:
    matchLabels:
      app: win-webserver
  # the pods
  template:
    metadata:
      labels:
        app: win-webserver
    spec:
      containers:
      - name: windowswebserver
        image: "mcr.microsoft.com/windows/servercore:1709"
        resources: {limits: {memory: 1Gi}}
      nodeSelector:
        # Windows only
        kubernetes.io/os: windows
)");
}

TEST(WindowsFix, KindsOfEveryEraBecomeThoseOfToday) {
    const std::string pods =
        "  template:\n    metadata: {labels: {app: a}}\n    spec:\n      nodeSelector: {beta.kubernetes.io/os: windows}\n"
        "      containers: [{name: a, image: 'microsoft/iis:windowsservercore-1803', resources: {limits: {cpu: 1}}}]\n";
    struct {
        const char* name;
        std::string text;
        const char* version;  // afterwards
    } const rows[] = {
        {"1.5, a pod", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"iis"},"spec":{"containers":[{"name":"iis",
            "image":"microsoft/iis:windowsservercore-1709","resources":{"limits":{"cpu":1}}}],"nodeSelector":{"beta.kubernetes.io/os":"windows"}}})",
         "v1"},
        {"1.5, Deployment", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 1\n" + pods,
         "apps/v1"},
        {"1.6, StatefulSet", "apiVersion: apps/v1beta1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  serviceName: a\n" + pods,
         "apps/v1"},
        {"1.8, Deployment", "apiVersion: apps/v1beta2\nkind: Deployment\nspec:\n  selector: {matchLabels: {app: a}}\n" + pods, "apps/v1"},
        {"1.9, DaemonSet", "apiVersion: extensions/v1beta1\nkind: DaemonSet\nspec:\n" + pods, "apps/v1"},
        {"1.11, ReplicaSet", "apiVersion: extensions/v1beta1\nkind: ReplicaSet\nspec:\n  replicas: 2\n" + pods, "apps/v1"},
        {"1.14, affinity",
         "apiVersion: v1\nkind: Pod\nspec:\n  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
         "        nodeSelectorTerms:\n        - matchExpressions:\n          - {key: beta.kubernetes.io/os, operator: In, values: "
         "[windows]}\n"
         "          - key: beta.kubernetes.io/arch\n            operator: In\n            values: [amd64]\n"
         "  containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]\n",
         "v1"},
        {"1.15, CronJob",
         "apiVersion: batch/v1beta1\nkind: CronJob\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    spec:\n      template:\n        "
         "spec:\n"
         "          nodeSelector:\n            beta.kubernetes.io/os: windows\n            kubernetes.io/os: windows\n"
         "          containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]\n",
         "batch/v1"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_THAT(check(row.text)->problems, Not(IsEmpty())) << "it is recognised";
        const std::string text = fixed(row.text);
        EXPECT_THAT(check(text)->problems, IsEmpty()) << text;
        EXPECT_EQ(parse(text)->front().string_at({"apiVersion"}), row.version);
    }
}

TEST(WindowsFix, AnIngressOfAnEarlyGuideIsWrittenAsToday) {
    EXPECT_EQ(fixed(R"(apiVersion: extensions/v1beta1
kind: Ingress
metadata:
  name: win-webserver
spec:
  backend: {serviceName: other, servicePort: http}
  rules:
  - host: www.example.com
    http:
      paths:
      # the web server
      - path: /
        backend:
          serviceName: win-webserver  # of the guide
          servicePort: 80
)"),
              R"(apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: win-webserver
spec:
  defaultBackend: {"service":{"name":"other","port":{"name":"http"}}}
  rules:
  - host: www.example.com
    http:
      paths:
      # the web server
      - path: /
        pathType: ImplementationSpecific
        backend:
          service:
            name: win-webserver
            port:
              number: 80
)");
    const std::string half = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec:\n  defaultBackend: {serviceName: a}\n";
    EXPECT_EQ(fixed(half), half) << "its port is for a person to say";
    EXPECT_THAT(check(half)->problems, Not(IsEmpty()));
}

TEST(WindowsFix, APodSecurityPolicyIsToldWithWhatCameAfterIt) {
    const std::string text = "apiVersion: extensions/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\nspec: {privileged: false}\n";
    EXPECT_EQ(fixed(text), text);
    const auto problems = check(text)->problems;
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].rule->code, "WIN708");
    EXPECT_THAT(std::string(problems[0].rule->remedy), HasSubstr("pod-security.kubernetes.io/enforce"));
}

TEST(WindowsFix, FieldsAreRemovedWithTheirLines) {
    EXPECT_EQ(
        fixed(pod("  # why\n  hostPID: true  # gone\n  securityContext:\n    runAsUser: 1\n    fsGroup: 2\n  containers: [] # none\n")),
        pod("  # why\n  containers: [] # none\n"));
    EXPECT_EQ(
        fixed(pod("  securityContext:\n    runAsUser: 1\n    # kept\n    runAsNonRoot: true\n    seLinuxOptions:\n      level: s0\n")),
        pod("  securityContext:\n    # kept\n    runAsNonRoot: true\n"));
}

TEST(WindowsFix, ListsFlowsAndEmptyMappingsStayValid) {
    EXPECT_EQ(fixed(pod("  containers:\n  - securityContext:\n      privileged: true\n    name: a\n    resources: {limits: {cpu: 1}}\n")),
              pod("  containers:\n  - name: a\n    resources: {limits: {cpu: 1}}\n"));
    EXPECT_EQ(
        fixed(pod("  containers: [{name: a, securityContext: {privileged: true, runAsNonRoot: true}, resources: {limits: {cpu: 1}}}]\n")),
        pod("  containers: [{name: a, securityContext: {runAsNonRoot: true}, resources: {limits: {cpu: 1}}}]\n"));
    EXPECT_EQ(fixed(pod("  volumes:\n  - name: v\n    emptyDir:  # scratch\n      medium: Memory\n")),
              pod("  volumes:\n  - name: v\n    emptyDir: {}  # scratch\n"));
    EXPECT_EQ(fixed(pod("  volumes:\n  - name: v\n    emptyDir: {medium: Memory}\n")), pod("  volumes:\n  - name: v\n    emptyDir: {}\n"));
}

TEST(WindowsFix, ModesOfItemsAreRemovedOneByOne) {
    EXPECT_EQ(fixed(pod("  volumes:\n  - name: v\n    configMap:\n      name: c\n      defaultMode: 0400\n      items:\n"
                        "      - {key: a, path: a, mode: 0400}\n      - key: b\n        path: b\n        mode: 256\n")),
              pod("  volumes:\n  - name: v\n    configMap:\n      name: c\n      items:\n"
                  "      - {key: a, path: a}\n      - key: b\n        path: b\n"));
}

TEST(WindowsFix, ASelectorFollowsFromTheName) {
    EXPECT_EQ(
        fixed("apiVersion: v1\nkind: Pod\nspec:\n  os: {name: windows}\n  containers: []\n"),
        "apiVersion: v1\nkind: Pod\nspec:\n  os: {name: windows}\n  nodeSelector:\n    kubernetes.io/os: windows\n  containers: []\n");
    EXPECT_EQ(
        fixed(R"({"apiVersion":"v1","kind":"Pod","spec":{"os":{"name":"linux"},"nodeSelector":{"pool":"a"},"containers":[]}})"),
        R"({"apiVersion":"v1","kind":"Pod","spec":{"os":{"name":"linux"},"nodeSelector":{"kubernetes.io/os":"linux", "pool":"a"},"containers":[]}})");
}

TEST(WindowsFix, ManyFieldsOfOneMappingAreRemovedTogether) {
    std::string annotations;
    for (int i = 0; i < 300; ++i)
        annotations += "    container.apparmor.security.beta.kubernetes.io/c" + std::to_string(i) + ": runtime/default\n";
    const auto with = [](const std::string& lines) {
        return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n" + lines + "spec:\n  os: {name: windows}\n" +
               "  nodeSelector: {kubernetes.io/os: windows}\n";
    };
    EXPECT_EQ(fixed(with("  annotations:\n" + annotations)), with(""));
    EXPECT_EQ(fixed(with("  annotations:\n" + annotations + "    a: b\n")), with("  annotations:\n    a: b\n"));
}

TEST(WindowsFix, LineBreaksOfTheFileAreKept) {
    EXPECT_EQ(fixed("apiVersion: v1\r\nkind: Pod\r\nspec:\r\n  os: {name: windows}\r\n  hostPID: true\r\n  containers: []\r\n"),
              "apiVersion: v1\r\nkind: Pod\r\nspec:\r\n  os: {name: windows}\r\n  nodeSelector:\r\n    kubernetes.io/os: windows\r\n"
              "  containers: []\r\n");
}

TEST(WindowsFix, WhatOthersShareIsLeftToAPerson) {
    const std::string text =
        pod("  securityContext: &shared\n    runAsUser: 1\n  containers:\n  - name: a\n    securityContext: *shared\n"
            "    resources: {limits: {cpu: 1}}\n");
    EXPECT_EQ(fixed(text), text);
    EXPECT_EQ(fix(text)->left.problems.size(), 2u);
    EXPECT_FALSE(fix(text)->left.problems[0].fixable);
}

TEST(WindowsFix, AContradictionIsLeftToAPerson) {
    const std::string text = "apiVersion: v1\nkind: Pod\nspec:\n  os: {name: linux}\n  nodeSelector: {kubernetes.io/os: windows}\n";
    EXPECT_EQ(fixed(text), text);
}

TEST(WindowsFix, OtherDocumentsAreNotTouched) {
    const std::string other = "# values\na:   1   # spaces\n---\n";
    EXPECT_EQ(fixed(other + pod("  hostIPC: true\n")), other + pod(""));
    EXPECT_EQ(fixed(other), other);
}

TEST(WindowsFix, TextsWithoutFinalLineBreakAndWithOtherLettersWork) {
    EXPECT_EQ(fixed(pod("  # Größe: 大\n  schedulerName: größe\n  hostPID: true")), pod("  # Größe: 大\n  schedulerName: größe\n"));
}

}  // namespace
}  // namespace porthole::windows::lint
