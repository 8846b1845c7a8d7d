#include "api/apps_v1.h"
#include "api/batch_v1.h"
#include "api/node_v1.h"
#include "apiserver/admission/admission_fixture.h"

#include <gmock/gmock.h>

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::apps::v1::Deployment;
using api::batch::v1::CronJob;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WindowsSupportAdmission : public AdmissionTest {
protected:
    AdmissionPluginPtr plugin_ = make_windows_support(given_);
};

Pod pod_for_windows() {
    Pod pod = named<Pod>("a", "web");
    pod.spec.node_selector["kubernetes.io/os"] = "windows";
    return pod;
}

// SCH-05, POD-24
TEST_F(WindowsSupportAdmission, WarnsOfNewPodsAndRefusesNone) {
    EXPECT_EQ(create(*plugin_, named<Pod>("a", "web")), "");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.os: ")));
    Pod pod = pod_for_windows();
    pod.spec.host_network = true;
    EXPECT_EQ(create(*plugin_, pod), "");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.hostNetwork: ")));
    EXPECT_EQ(update(*plugin_, pod, pod), "");
    EXPECT_THAT(warnings_, IsEmpty()) << "a pod's spec stays";
}

TEST_F(WindowsSupportAdmission, SaysNothingInAClusterOfOneSystem) {
    systems_.windows = false;
    create(*plugin_, named<Pod>("a", "web"));
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(WindowsSupportAdmission, PodsOfAWorkloadWereToldOfByTheirTemplate) {
    Pod pod = named<Pod>("a", "web");
    pod.metadata.owner_references.emplace_back().controller = true;
    create(*plugin_, pod);
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(WindowsSupportAdmission, TemplatesAreToldOfWhenTheyChange) {
    Deployment before = named<Deployment>("a", "web");
    create(*plugin_, before);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.template.spec.os: ")));
    Deployment scaled = before;
    scaled.spec.replicas = 3;
    update(*plugin_, before, scaled);
    EXPECT_THAT(warnings_, IsEmpty());
    Deployment changed = before;
    changed.spec.template_.spec.node_selector["kubernetes.io/os"] = "windows";
    changed.spec.template_.spec.dns_policy = "ClusterFirstWithHostNet";
    update(*plugin_, before, changed);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.template.spec.dnsPolicy: ")));
    create(*plugin_, named<CronJob>("a", "web"));
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.jobTemplate.spec.template.spec.os: ")));
}

// SCH-11
TEST_F(WindowsSupportAdmission, ARuntimeClassMayChooseTheSystem) {
    api::node::v1::RuntimeClass windows = named<api::node::v1::RuntimeClass>("", "windows");
    windows.scheduling.emplace().node_selector["kubernetes.io/os"] = "windows";
    put(windows);
    Deployment web = named<Deployment>("a", "web");
    web.spec.template_.spec.runtime_class_name = "windows";
    create(*plugin_, web);
    EXPECT_THAT(warnings_, IsEmpty());
}

// SVC-14
TEST_F(WindowsSupportAdmission, ServicesAreToldOfTheirAffinityTimeout) {
    Service service = named<Service>("a", "web");
    service.spec.session_affinity_config.emplace().client_ip.emplace().timeout_seconds = 60;
    create(*plugin_, service);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("timeoutSeconds: has no effect on Windows")));
    update(*plugin_, service, service);
    EXPECT_THAT(warnings_, IsEmpty());
}

// SVC-12
TEST_F(WindowsSupportAdmission, ServicesAreToldWhenWhatIsSaidChanges) {
    Service service = named<Service>("a", "web");
    service.spec.load_balancer_source_ranges = {"10.0.0.0/8"};
    create(*plugin_, service);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.loadBalancerSourceRanges: are not enforced on Windows nodes")));
}

// API-15
TEST_F(WindowsSupportAdmission, AStrictServerRefusesWhatWindowsRefusesOrIgnores) {
    given_.windows_strict = true;
    const AdmissionPluginPtr strict = make_windows_support(given_);
    Pod pod = pod_for_windows();
    EXPECT_EQ(create(*strict, pod), "") << "advice refuses nothing";
    pod.spec.host_network = true;
    pod.spec.volumes.emplace_back().empty_dir.emplace().medium = "Memory";
    const std::string answer = create(*strict, pod);
    EXPECT_THAT(answer, HasSubstr("spec.hostNetwork: Forbidden: Windows has no host network for pods"));
    EXPECT_THAT(answer,
                HasSubstr("spec.volumes[0].emptyDir.medium: Forbidden: memory-backed emptyDir is not supported on Windows; remove it"));
    EXPECT_EQ(error_.reason, Reason::Invalid);
    EXPECT_EQ(error_.details->causes.size(), 2u);

    Deployment deployment = named<Deployment>("a", "web");
    deployment.spec.template_.spec = pod.spec;
    EXPECT_THAT(create(*strict, deployment), HasSubstr("spec.template.spec.hostNetwork: Forbidden"));
    pod.spec.node_selector["kubernetes.io/os"] = "linux";
    EXPECT_EQ(create(*strict, pod), "");
}

// POS-02
TEST_F(WindowsSupportAdmission, POS02_WithoutItsGateTheFieldIsDroppedFromNewPods) {
    given_.identify_pod_os = false;
    const AdmissionPluginPtr without = make_windows_support(given_);
    Pod pod = named<Pod>("a", "web");
    pod.spec.os = PodOS{.name = "windows"};
    EXPECT_EQ(create(*plugin_, pod), "");
    EXPECT_EQ(pod.spec.os->name, "windows") << "the gate is on unless said otherwise";
    EXPECT_EQ(create(*without, pod), "");
    EXPECT_FALSE(pod.spec.os.has_value());
}

// SCH-05, SCH-06
TEST_F(WindowsSupportAdmission, ANamespaceDecidesOnPodsThatNameNoSystem) {
    const auto answer = [&](const char* policy, Pod pod = named<Pod>("a", "web")) {
        Namespace space = named<Namespace>("", "a");
        if (policy) space.metadata.labels["porthole.dev/pods-without-os"] = policy;
        put(space);
        return create(*plugin_, pod) + "|" + pod.spec.node_selector["kubernetes.io/os"];
    };
    EXPECT_EQ(answer(nullptr), "|");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.os: ")));
    EXPECT_EQ(answer("allow"), "|");
    EXPECT_THAT(warnings_, IsEmpty());
    EXPECT_EQ(answer("windows"), "|windows");
    EXPECT_EQ(answer("linux"), "|linux");
    EXPECT_THAT(warnings_, IsEmpty());
    EXPECT_THAT(answer("refuse"), HasSubstr("spec.os: Required value: pods of this namespace must name their operating system"));
    EXPECT_EQ(answer("refuse", pod_for_windows()), "|windows") << "it names one";
    EXPECT_EQ(answer("linux", pod_for_windows()), "|windows") << "it is never overridden";
}

}  // namespace
}  // namespace porthole::apiserver
