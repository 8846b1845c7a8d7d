#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

struct Row {
    const char *name, *patch, *told;
};

void check(RulesOf rules, std::initializer_list<Row> rows) {
    EXPECT_EQ(rules.warnings(), "");
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(rules.warnings(row.patch), row.told);
    }
}

TEST(PodWarnings, TellWhatIsTakenButHardlyMeant) {
    check(
        {"", "v1", "Pod", "{metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"},
        {
            {"name", "{metadata: {name: a.b}}",
             "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "
             "[must not contain dots]"},
            {"variable", "{spec: {containers: [{name: c, image: i, env: [{name: A, value: one}, {name: A, value: two}]}]}}",
             R"(spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply)"},
            {"variable that builds on itself",
             "{spec: {containers: [{name: c, image: i, env: [{name: A, value: one}, {name: A, value: \"$(A):two\"}]}]}}", ""},
            {"node label", "{spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}",
             R"(spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead)"},
            {"affinity",
             "{spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
             "[{key: beta.kubernetes.io/arch, operator: Exists}]}]}}}}}",
             "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: "
             R"(deprecated since v1.14; use "kubernetes.io/arch" instead)"},
            {"spreading", "{spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: x, whenUnsatisfiable: DoNotSchedule}]}}",
             "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"},
            {"anti-affinity", "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: x}]}}}}",
             "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: "
             "a null labelSelector results in matching no pod"},
            {"volume", "{spec: {volumes: [{name: v, gitRepo: {repository: r}}]}}",
             "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"},
            {"ports",
             "{spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}]}, {name: d, image: i, ports: "
             "[{containerPort: 80}]}]}}",
             "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"},
            {"bytes", "{spec: {containers: [{name: c, image: i, resources: {requests: {memory: 1500m}}}]}}",
             R"(spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer)"},
            {"secrets", "{spec: {imagePullSecrets: [{name: s}, {name: s}]}}", R"(spec.imagePullSecrets[1].name: duplicate name "s")"},
        });
}

TEST(PodWarnings, NameTheTemplateOfAWorkload) {
    constexpr const char* Base =
        "{metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
        "spec: {containers: [{name: c, image: i}]}}}}";
    constexpr const char* Patch = "{spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}}}";
    constexpr const char* Told =
        R"(spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead)";
    for (const char* kind : {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
        check({"apps", "v1", kind, Base}, {{kind, Patch, Told}});
}

TEST(ServiceWarnings, TellWhatDoesNothing) {
    check(
        {"", "v1", "Service", "{metadata: {name: s}, spec: {clusterIP: None, ports: [{port: 80}]}}"},
        {
            {"affinity", "{spec: {sessionAffinity: ClientIP}}", "spec.SessionAffinity is ignored for headless services"},
            {"external name", "{spec: {externalName: a.example}}", R"(spec.externalName is ignored when spec.type is not "ExternalName")"},
            {"distribution", "{spec: {trafficDistribution: PreferClose}}",
             R"(spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone")"},
        });
}

}  // namespace
}  // namespace porthole::apiserver
