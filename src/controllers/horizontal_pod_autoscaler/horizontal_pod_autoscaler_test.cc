#include "controllers/horizontal_pod_autoscaler/horizontal_pod_autoscaler.h"

#include "api/apps_v1.h"
#include "api/metrics_v1beta1.h"
#include "controllers/framework/sim/sim_world.h"
#include "objects/conditions.h"

namespace porthole::controllers {
namespace {

using namespace api::autoscaling::v2;
using api::apps::v1::Deployment;
using api::apps::v1::StatefulSet;
using api::core::v1::Pod;
using api::metrics::v1beta1::PodMetrics;
using schema::Value;

constexpr Duration Period = HorizontalPodAutoscalerController::SyncPeriod;

struct HorizontalPodAutoscalers : SimWorld {
    void SetUp() override {
        Deployment deployment;
        deployment.metadata.namespace_ = "ns";
        deployment.metadata.name = "web";
        deployment.spec.replicas = 2;
        deployment.spec.selector.emplace().match_labels = {{"app", "web"}};
        api.put(deployment);
        set_pods({100, 100});
        run<HorizontalPodAutoscalerController>();
    }
    /// So many ready pods, of what each uses in thousandths of the processor that it requests.
    void set_pods(const std::vector<std::int64_t>& used) {
        for (const Pod& pod : api.list<Pod>("ns")) api.erase<Pod>(client::key_of(pod));
        for (const PodMetrics& metrics : api.list<PodMetrics>("ns")) api.erase<PodMetrics>(client::key_of(metrics));
        for (std::size_t i = 0; i < used.size(); ++i) {
            Pod pod;
            pod.metadata.namespace_ = "ns";
            pod.metadata.name = "web-" + std::to_string(i);
            pod.metadata.labels = {{"app", "web"}};
            auto& container = pod.spec.containers.emplace_back();
            container.name = "main";
            container.resources.requests["cpu"] = Quantity::from_value(1);
            pod.status.phase = "Running";
            pod.status.start_time = Timestamp(loop.wall_now() - 1h);
            pod.status.conditions.push_back({.type = "Ready", .status = "True", .last_transition_time = Timestamp(loop.wall_now() - 1h)});
            api.put(pod);
            PodMetrics metrics;
            metrics.metadata = pod.metadata;
            metrics.timestamp = Timestamp(loop.wall_now());
            metrics.window = 15s;
            metrics.containers.push_back({.name = "main", .usage = {{"cpu", Quantity::from_milli(used[i])}}});
            api.put(metrics);
        }
        if (auto deployment = api.find<Deployment>({"ns", "web"})) {
            deployment->status.replicas = static_cast<std::int32_t>(used.size());
            api.put(*deployment);
        }
    }
    HorizontalPodAutoscaler autoscaler(const std::string& name, const std::string& kind = "Deployment", const std::string& target = "web") {
        HorizontalPodAutoscaler made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        made.spec.scale_target_ref = {.kind = kind, .name = target, .api_version = "apps/v1"};
        made.spec.min_replicas = 1;
        made.spec.max_replicas = 10;
        MetricSpec cpu{.type = "Resource"};
        cpu.resource = ResourceMetricSource{.name = "cpu", .target = {.type = "Utilization", .average_utilization = 50}};
        made.spec.metrics.push_back(cpu);
        return made;
    }
    void add(const HorizontalPodAutoscaler& made) {
        api.put(made);
        pass(Period + 1s);
    }
    std::int32_t replicas() { return api.find<Deployment>({"ns", "web"})->spec.replicas.value_or(-1); }
    HorizontalPodAutoscalerStatus status(const std::string& name = "a") { return api.find<HorizontalPodAutoscaler>({"ns", name})->status; }
    /// "True ReadyForNewScale: recommended size matches current size"
    std::string condition(const char* type, const std::string& name = "a") {
        const auto all = status(name).conditions;
        const auto* found = objects::find_condition(all, type);
        return found ? found->status + " " + found->reason + ": " + found->message : "";
    }
};

// WKL-08
TEST_F(HorizontalPodAutoscalers, ScaleUpAboveTheTarget) {
    set_pods({900, 900});
    add(autoscaler("a"));
    EXPECT_EQ(replicas(), 4);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target"));
    EXPECT_EQ(status().current_replicas, 2);
    EXPECT_EQ(status().desired_replicas, 4);
    EXPECT_TRUE(status().last_scale_time);
    ASSERT_EQ(status().current_metrics.size(), 1u);
    EXPECT_EQ(status().current_metrics[0].resource->current.average_utilization, 90);
    EXPECT_EQ(status().current_metrics[0].resource->current.average_value, Quantity::from_milli(900));
    EXPECT_EQ(condition("AbleToScale"), "True SucceededRescale: the HPA controller was able to update the target scale to 4");
    EXPECT_EQ(condition("ScalingActive"),
              "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization "
              "(percentage of request)");
    EXPECT_EQ(condition("ScalingLimited"), "False DesiredWithinRange: the desired count is within the acceptable range");
}

TEST_F(HorizontalPodAutoscalers, AChangedStatusOfTheTargetHoldsUpNoScaling) {
    set_pods({900, 900});
    int refused = 0;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "PUT" || !request.path.ends_with("/deployments/web/scale") || ++refused > 2) return std::nullopt;
        return Error(Reason::Conflict, "the object has been modified");
    });
    add(autoscaler("a"));
    EXPECT_EQ(replicas(), 4);
    for (const std::string& event : events()) EXPECT_FALSE(event.starts_with("FailedRescale")) << event;
}

TEST_F(HorizontalPodAutoscalers, MemoryIsShownInPowersOfTwo) {
    for (const Pod& pod : api.list<Pod>("ns")) {
        api.change<Pod>(client::key_of(pod),
                        [](Pod& pod) { pod.spec.containers[0].resources.requests["memory"] = *Quantity::parse("64Mi"); });
        api.change<PodMetrics>(client::key_of(pod),
                               [](PodMetrics& metrics) { metrics.containers[0].usage["memory"] = *Quantity::parse("20Mi"); });
    }
    HorizontalPodAutoscaler wanted = autoscaler("a");
    wanted.spec.metrics[0].resource->name = "memory";
    add(wanted);
    ASSERT_EQ(status().current_metrics.size(), 1u);
    EXPECT_EQ(status().current_metrics[0].resource->current.average_value->to_string(), "20Mi");
}

TEST_F(HorizontalPodAutoscalers, ScaleDownAfterFiveMinutesBelowTheTarget) {
    add(autoscaler("a"));
    pass(4min);
    EXPECT_EQ(replicas(), 2);
    EXPECT_TRUE(condition("AbleToScale").starts_with("True ScaleDownStabilized"));
    pass(2min);
    EXPECT_EQ(replicas(), 1);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 1; reason: All metrics below target"));
}

TEST_F(HorizontalPodAutoscalers, LookEveryFifteenSeconds) {
    add(autoscaler("a"));
    api.clear_requests();
    pass(10 * Period);
    std::size_t asked = 0;
    for (const auto& request : api.requests()) asked += request.path.ends_with("/scale") && request.method == "GET";
    EXPECT_EQ(asked, 10u);
}

TEST_F(HorizontalPodAutoscalers, KeepToTheirRangeWithoutMetrics) {
    set_pods({});
    HorizontalPodAutoscaler made = autoscaler("a");
    made.spec.min_replicas = 5;
    add(made);
    EXPECT_EQ(replicas(), 5);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 5; reason: Current number of replicas below Spec.MinReplicas"));
    api.change<Deployment>({"ns", "web"}, [](Deployment& deployment) { deployment.spec.replicas = 20; });
    pass(Period);
    EXPECT_EQ(replicas(), 10);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 10; reason: Current number of replicas above Spec.MaxReplicas"));
}

TEST_F(HorizontalPodAutoscalers, LeaveATargetOfZeroAlone) {
    api.change<Deployment>({"ns", "web"}, [](Deployment& deployment) { deployment.spec.replicas = 0; });
    add(autoscaler("a"));
    EXPECT_EQ(replicas(), 0);
    EXPECT_EQ(condition("ScalingActive"), "False ScalingDisabled: scaling is disabled since the replica count of the target is zero");
}

TEST_F(HorizontalPodAutoscalers, SayWhyMetricsCannotBeComputed) {
    for (const PodMetrics& metrics : api.list<PodMetrics>("ns")) api.erase<PodMetrics>(client::key_of(metrics));
    add(autoscaler("a"));
    const std::string why =
        "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API";
    EXPECT_EQ(condition("ScalingActive"), "False FailedGetResourceMetric: the HPA was unable to compute the replica count: " + why);
    EXPECT_TRUE(has_event("FailedGetResourceMetric: " + why));
    EXPECT_TRUE(
        has_event("FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource "
                  "metric value: " +
                  why));
    EXPECT_EQ(replicas(), 2);
    EXPECT_EQ(status().current_replicas, 2);
}

TEST_F(HorizontalPodAutoscalers, DoNotShrinkByHalfOfTheMetrics) {
    HorizontalPodAutoscaler made = autoscaler("a");
    made.spec.behavior.emplace().scale_up =
        HPAScalingRules{.stabilization_window_seconds = 0, .select_policy = "Max", .policies = {{"Pods", 4, 15}}};
    made.spec.behavior->scale_down =
        HPAScalingRules{.stabilization_window_seconds = 0, .select_policy = "Max", .policies = {{"Pods", 4, 15}}};
    MetricSpec memory = made.spec.metrics[0];
    memory.resource->name = "memory";
    made.spec.metrics.push_back(memory);
    add(made);
    EXPECT_EQ(replicas(), 2) << "memory is not known, and might need them";
    EXPECT_TRUE(condition("ScalingActive").starts_with("False FailedGetResourceMetric"));
    set_pods({900, 900});
    pass(Period);
    EXPECT_EQ(replicas(), 4) << "but growing cannot be wrong";
    EXPECT_TRUE(condition("ScalingActive").starts_with("True ValidMetricFound"));
}

TEST_F(HorizontalPodAutoscalers, SayWhyTheTargetCannotBeScaled) {
    add(autoscaler("a", "Deployment", "missing"));
    EXPECT_TRUE(
        condition("AbleToScale").starts_with("False FailedGetScale: the HPA controller was unable to get the target's current scale: "));
    add(autoscaler("b", "Toy"));
    EXPECT_TRUE(has_event("FailedGetScale: no matches for kind \"Toy\" in group \"apps\""));
}

TEST_F(HorizontalPodAutoscalers, SayWhenTheScaleCannotBeWritten) {
    set_pods({900, 900});
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "PUT" || !request.path.ends_with("/scale")) return std::nullopt;
        return Error(Reason::Forbidden, "no");
    });
    add(autoscaler("a"));
    EXPECT_EQ(condition("AbleToScale"), "False FailedUpdateScale: the HPA controller was unable to update the target scale: no");
    EXPECT_TRUE(has_event("FailedRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target; error: no"));
    EXPECT_EQ(replicas(), 2);
}

TEST_F(HorizontalPodAutoscalers, DoNotShareTheirPods) {
    set_pods({900, 900});
    api.put(autoscaler("a"));
    api.put(autoscaler("b"));
    pass(2 * Period + 1s);
    const std::string why = "pods by selector app=web are controlled by multiple HPAs: [ns/a ns/b]";
    EXPECT_EQ(condition("ScalingActive", "b"), "False AmbiguousSelector: " + why);
    EXPECT_EQ(condition("ScalingActive", "a"), "False AmbiguousSelector: " + why);
    EXPECT_TRUE(has_event("AmbiguousSelector: " + why));
    api.erase<HorizontalPodAutoscaler>({"ns", "b"});
    pass(Period);
    EXPECT_TRUE(condition("ScalingActive", "a").starts_with("True")) << "the other is gone";
}

TEST_F(HorizontalPodAutoscalers, ManyThatShareTheirPodsAreNotAllNamedByEach) {
    set_pods({900, 900});
    for (int i = 100; i < 130; ++i) api.put(autoscaler(std::to_string(i)));
    pass(2 * Period + 1s);
    const std::string why = condition("ScalingActive", "129");
    EXPECT_TRUE(why.starts_with("False AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [ns/100 ns/101 "))
        << why;
    EXPECT_TRUE(why.ends_with(" ns/119 ...]")) << why;
}

TEST_F(HorizontalPodAutoscalers, GoOnWhenTheApiFailsAndAfterARestart) {
    set_pods({900, 900});
    api.put(autoscaler("a"));
    for (int round = 0; round < 8; ++round) {
        SCOPED_TRACE(round);
        int count = 0;
        api.set_fault([&, round](const client::ApiRequest&) -> std::optional<Error> {
            if (++count % 8 != round) return std::nullopt;
            return Error(Reason::Unavailable, "the connection broke off");
        });
        pass(Period);
        EXPECT_LE(replicas(), 4);
        EXPECT_GE(replicas(), 2);
    }
    api.set_fault(nullptr);
    crash();
    run<HorizontalPodAutoscalerController>();
    set_pods({100, 100, 100, 100});
    pass(2 * Period);
    EXPECT_EQ(replicas(), 4) << "a controller that has just started does not shrink what it finds";
    EXPECT_TRUE(condition("AbleToScale").starts_with("True ScaleDownStabilized"));
}

TEST_F(HorizontalPodAutoscalers, NeedASelector) {
    api.change<Deployment>({"ns", "web"}, [](Deployment& deployment) { deployment.spec.selector->match_labels.clear(); });
    add(autoscaler("a"));
    EXPECT_EQ(condition("ScalingActive"), "False InvalidSelector: the HPA target's scale is missing a selector");
    EXPECT_TRUE(has_event("SelectorRequired: selector is required"));
}

TEST_F(HorizontalPodAutoscalers, ScaleAnyKindWithTheSubresource) {
    StatefulSet set;
    set.metadata.namespace_ = "ns";
    set.metadata.name = "db";
    set.spec.replicas = 2;
    set.spec.selector.emplace().match_labels = {{"app", "web"}};
    set.status.replicas = 2;
    api.put(set);
    set_pods({900, 900});
    add(autoscaler("a", "StatefulSet", "db"));
    EXPECT_EQ(api.find<StatefulSet>({"ns", "db"})->spec.replicas, 4);
}

// API-21
TEST_F(HorizontalPodAutoscalers, ScaleCustomResources) {
    std::int64_t toys = 2;
    api.set_answer([&](const client::ApiRequest& request) -> std::optional<Value> {
        if (request.path == "/apis/example.com")
            return schema::parse_json(R"({"preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]})").value();
        if (request.path == "/apis/example.com/v1")
            return schema::parse_json(
                       R"({"resources":[{"name":"toys/scale","kind":"Toy"},{"name":"toys","kind":"Toy","namespaced":true}]})")
                .value();
        if (request.path != "/apis/example.com/v1/namespaces/ns/toys/t/scale") return std::nullopt;
        if (request.method == "PUT") toys = schema::parse_json(request.body)->at_path({"spec", "replicas"})->as_int();
        Value scale =
            schema::parse_json(
                R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"t"},"status":{"replicas":2,"selector":"app=web"}})")
                .value();
        scale.ensure_path({"spec", "replicas"}) = toys;
        return scale;
    });
    set_pods({900, 900});
    HorizontalPodAutoscaler made = autoscaler("a", "Toy", "t");
    made.spec.scale_target_ref.api_version = "example.com/v1";
    add(made);
    EXPECT_EQ(toys, 4);
}

/// Metrics of extension API servers.
struct OtherMetrics : HorizontalPodAutoscalers {
    void serve(const std::string& path, const std::string& answer) {
        answers["/apis/custom.metrics.k8s.io"] = R"({"versions":[{"version":"v1beta1"},{"version":"v1beta2"}]})";
        answers[path] = answer;
        api.set_answer([this](const client::ApiRequest& request) -> std::optional<Value> {
            const auto found = answers.find(request.path);
            if (found == answers.end()) return std::nullopt;
            queries[request.path] = request.query;
            return schema::parse_json(found->second).value();
        });
    }
    void scale_by(MetricSpec metric) {
        HorizontalPodAutoscaler made = autoscaler("a");
        made.spec.metrics = {std::move(metric)};
        add(made);
    }
    std::map<std::string, std::string> answers, queries;
};

// API-13
TEST_F(OtherMetrics, OfPodsComeFromTheCustomMetricsApi) {
    serve(
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/pods/*/qps",
        R"({"items":[{"describedObject":{"kind":"Pod","name":"web-0"},"value":"30"},{"describedObject":{"kind":"Pod","name":"web-1"},"value":10}]})");
    MetricSpec metric{.type = "Pods"};
    metric.pods =
        PodsMetricSource{.metric = {.name = "qps"}, .target = {.type = "AverageValue", .average_value = Quantity::from_value(10)}};
    scale_by(metric);
    EXPECT_EQ(replicas(), 4);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 4; reason: pods metric qps above target"));
    EXPECT_EQ(queries["/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/pods/*/qps"], "labelSelector=app%3Dweb");
    EXPECT_EQ(status().current_metrics[0].pods->current.average_value, Quantity::from_value(20));
}

TEST_F(OtherMetrics, OfObjectsComeFromTheCustomMetricsApi) {
    const std::string path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/services/front/hits";
    serve(path, R"({"items":[{"describedObject":{"kind":"Service","name":"front"},"value":"30"}]})");
    MetricSpec metric{.type = "Object"};
    metric.object = ObjectMetricSource{.described_object = {.kind = "Service", .name = "front", .api_version = "v1"},
                                       .target = {.type = "Value", .value = Quantity::from_value(10)},
                                       .metric = {.name = "hits"}};
    metric.object->metric.selector.emplace().match_labels = {{"verb", "GET"}};
    scale_by(metric);
    EXPECT_EQ(replicas(), 4) << "six, but no more than twice as many at a time";
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 4; reason: Service metric hits above target"));
    EXPECT_TRUE(condition("ScalingLimited").starts_with("True ScaleUpLimit"));
    EXPECT_EQ(queries[path], "metricLabelSelector=verb%3DGET");
    answers[path] = R"({"items":[{"value":"1"},{"value":"2"}]})";
    pass(Period);
    EXPECT_TRUE(
        has_event("FailedGetObjectMetric: unable to get metric hits: Service on ns front/unable to fetch metrics from custom metrics "
                  "API: the custom metrics API server returned 2 results when we asked for exactly one"));
}

TEST_F(OtherMetrics, OfOlderServersAreAskedInTheirVersion) {
    serve("/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/metrics/hits", R"({"items":[{"value":"30"}]})");
    answers["/apis/custom.metrics.k8s.io"] = R"({"versions":[{"version":"v1beta1"}]})";
    MetricSpec metric{.type = "Object"};
    metric.object = ObjectMetricSource{.described_object = {.kind = "Namespace", .name = "other", .api_version = "v1"},
                                       .target = {.type = "AverageValue", .average_value = Quantity::from_value(10)},
                                       .metric = {.name = "hits"}};
    scale_by(metric);
    EXPECT_EQ(replicas(), 3) << "of the autoscaler's own namespace, whatever it names";
}

TEST_F(OtherMetrics, ThatAreExternalAreSummedUp) {
    const std::string path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/queue";
    serve(path, R"({"items":[{"value":"12"},{"value":"17500m"}]})");
    MetricSpec metric{.type = "External"};
    metric.external =
        ExternalMetricSource{.metric = {.name = "queue"}, .target = {.type = "AverageValue", .average_value = Quantity::from_value(10)}};
    scale_by(metric);
    EXPECT_EQ(replicas(), 3);
    EXPECT_TRUE(has_event("SuccessfulRescale: New size: 3; reason: external metric queue(nil) above target"));
    EXPECT_EQ(status().current_metrics[0].external->current.average_value, Quantity::from_milli(14750));
}

TEST_F(OtherMetrics, ThatNobodyServesAreReported) {
    MetricSpec metric{.type = "Pods"};
    metric.pods =
        PodsMetricSource{.metric = {.name = "qps"}, .target = {.type = "AverageValue", .average_value = Quantity::from_value(10)}};
    scale_by(metric);
    EXPECT_TRUE(
        has_event("FailedGetPodsMetric: unable to get metric qps: unable to fetch metrics from custom metrics API: no custom metrics API "
                  "(custom.metrics.k8s.io) registered"));
}

TEST_F(OtherMetrics, OfOneContainerIgnoreTheOthers) {
    for (const PodMetrics& metrics : api.list<PodMetrics>("ns"))
        api.change<PodMetrics>(client::key_of(metrics), [](PodMetrics& one) {
            one.containers[0].usage["cpu"] = Quantity::from_milli(900);
            one.containers.push_back({.name = "sidecar", .usage = {{"cpu", Quantity::from_value(9)}}});
        });
    MetricSpec metric{.type = "ContainerResource"};
    metric.container_resource =
        ContainerResourceMetricSource{.name = "cpu", .target = {.type = "Utilization", .average_utilization = 50}, .container = "main"};
    scale_by(metric);
    EXPECT_EQ(replicas(), 4);
    EXPECT_TRUE(
        has_event("SuccessfulRescale: New size: 4; reason: cpu container resource utilization (percentage of request) above target"));
    EXPECT_EQ(status().current_metrics[0].container_resource->current.average_utilization, 90);
}

}  // namespace
}  // namespace porthole::controllers
