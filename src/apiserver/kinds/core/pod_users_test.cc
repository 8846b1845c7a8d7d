// User namespaces of pods: what goes with spec.hostUsers, and what needs it.
#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

struct PodUsersRules : testing::Test {
    RulesOf pods{"", "v1", "Pod", "spec: {containers: [{name: c, image: i}]}"};
    RulesOf deployments{"apps", "v1", "Deployment",
                        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
                        "spec: {containers: [{name: c, image: i}]}}}"};
};

TEST_F(PodUsersRules, OwnUsersDoNotGoWithTheNodesOtherNamespacesNorWithBlockDevices) {
    expect_answers(pods,
                   {
                       {"own users", "spec: {hostUsers: false}", ""},
                       {"network", "spec: {hostUsers: false, hostNetwork: true}", "spec.hostNetwork: Forbidden: when `hostUsers` is false"},
                       {"processes", "spec: {hostUsers: false, hostPID: true}", "spec.HostPID: Forbidden: when `hostUsers` is false"},
                       {"messages", "spec: {hostUsers: false, hostIPC: true}", "spec.HostIPC: Forbidden: when `hostUsers` is false"},
                       {"the node's users", "spec: {hostUsers: true, hostIPC: true}", ""},
                   });
    constexpr const char* Device =
        "volumes: [{name: v, persistentVolumeClaim: {claimName: v}}], "
        "containers: [{name: c, image: i, volumeDevices: [{name: v, devicePath: /dev/x}]}]}";
    EXPECT_EQ(pods.create((std::string("spec: {") + Device).c_str()), "");
    EXPECT_EQ(pods.create((std::string("spec: {hostUsers: false, ") + Device).c_str()),
              "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false");
}

TEST_F(PodUsersRules, AllOfProcIsForOwnUsersOnly) {
    const auto unmasked = [](const std::string& list) {
        return "{" + list + ": [{name: x, image: i, securityContext: {procMount: Unmasked}}]";
    };
    constexpr const char* Refusal = ".securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`";
    for (const char* list : {"containers", "initContainers"}) {
        SCOPED_TRACE(list);
        EXPECT_EQ(pods.create(("spec: " + unmasked(list) + "}").c_str()), std::string("spec.") + list + "[0]" + Refusal);
        EXPECT_EQ(pods.create(("spec: " + unmasked(list) + ", hostUsers: false}").c_str()), "");
    }
    EXPECT_EQ(deployments.create(("spec: {template: {spec: " + unmasked("containers") + "}}}").c_str()),
              std::string("spec.template.spec.containers[0]") + Refusal);
}

}  // namespace
}  // namespace porthole::apiserver
