#include "apiserver/admission/admission_fixture.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using Labels = std::map<std::string, std::string>;

class HardeningPlugins : public AdmissionTest {
protected:
    HardeningPlugins() { put(named<Namespace>("", "a", "1")); }

    static Pod pod() {
        Pod pod = named<Pod>("a", "web");
        auto& container = pod.spec.containers.emplace_back();
        container.name = "main";
        container.image = "i:1";
        container.image_pull_policy = "IfNotPresent";
        return pod;
    }
    void annotate(const char* key, const char* value) {
        auto namespace_ = named<Namespace>("", "a", "1");
        if (value) namespace_.metadata.annotations[key] = value;
        put(namespace_);
    }
    /// The plugin `make` with a configuration as JSON, "" for none.
    AdmissionPluginPtr configured(Result<AdmissionPluginPtr> (*make)(const AdmissionDependencies&), const char* name,
                                  std::string_view configuration) {
        auto made = try_configured(make, name, configuration);
        EXPECT_TRUE(made) << made.error().message;
        return made ? std::move(*made) : nullptr;
    }
    Result<AdmissionPluginPtr> try_configured(Result<AdmissionPluginPtr> (*make)(const AdmissionDependencies&), const char* name,
                                              std::string_view configuration) {
        configurations_.clear();
        if (!configuration.empty()) configurations_[name] = *schema::parse_json(configuration);
        given_.configurations = &configurations_;
        return make(given_);
    }

    AdmissionConfigurations configurations_;
};

TEST_F(HardeningPlugins, EveryImageOfANewPodIsPulled) {
    auto plugin = make_always_pull_images(given_);
    Pod made = pod();
    made.spec.init_containers.push_back(made.spec.containers[0]);
    auto& volume = made.spec.volumes.emplace_back();
    volume.name = "v";
    volume.image.emplace();
    volume.image->reference = "data:1";
    volume.image->pull_policy = "Never";
    ASSERT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.containers[0].image_pull_policy, "Always");
    EXPECT_EQ(made.spec.init_containers[0].image_pull_policy, "Always");
    EXPECT_EQ(made.spec.volumes[0].image->pull_policy, "Always");
}

TEST_F(HardeningPlugins, AnotherPluginCannotTakeThePullPolicyBack) {
    auto plugin = make_always_pull_images(given_);
    ApiObject object = ApiObject::of(pod());
    const AdmissionAttributes attributes{.operation = AdmissionOperation::Create,
                                         .kind = Pod::kind(),
                                         .subresource = {},
                                         .namespace_ = "a",
                                         .name = "web",
                                         .user = user_,
                                         .object = &object,
                                         .warnings = warnings_,
                                         .audit_annotations = audit_};
    const auto outcome = run(plugin->validate(attributes));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().message,
              "pods \"web\" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: \"IfNotPresent\": "
              "supported values: \"Always\"");
}

TEST_F(HardeningPlugins, AnUpdateIsConcernedWhenItBringsAnImage) {
    auto plugin = make_always_pull_images(given_);
    Pod after = pod();
    after.metadata.labels["a"] = "b";
    EXPECT_EQ(update(*plugin, pod(), after), "");
    ApiObject relabelled = ApiObject::of(after), before = ApiObject::of(pod());
    EXPECT_EQ(pass(*plugin, AdmissionOperation::Update, after.metadata, Pod::kind(), &relabelled, &before), "");
    EXPECT_EQ(relabelled.view<Pod>().spec.containers[0].image_pull_policy, "IfNotPresent");

    after.spec.containers[0].image = "i:2";
    ApiObject changed = ApiObject::of(after);
    EXPECT_EQ(pass(*plugin, AdmissionOperation::Update, after.metadata, Pod::kind(), &changed, &before), "");
    EXPECT_EQ(changed.view<Pod>().spec.containers[0].image_pull_policy, "Always");

    Pod debugged = pod();
    auto& ephemeral = debugged.spec.ephemeral_containers.emplace_back();
    ephemeral.name = "debug";
    ephemeral.image = "private:1";
    ephemeral.image_pull_policy = "Never";
    ApiObject object = ApiObject::of(debugged);
    EXPECT_EQ(pass(*plugin, AdmissionOperation::Update, debugged.metadata, Pod::kind(), &object, &before, "ephemeralcontainers"), "");
    EXPECT_EQ(object.view<Pod>().spec.ephemeral_containers[0].image_pull_policy, "Always");
}

TEST_F(HardeningPlugins, ServicesGetNoNewExternalAddresses) {
    auto plugin = make_deny_service_external_ips(given_);
    auto plain = named<Service>("a", "web"), exposed = plain, more = plain;
    exposed.spec.external_ips = {"192.0.2.1"};
    more.spec.external_ips = {"192.0.2.1", "192.0.2.2"};
    constexpr const char* Denied = "services \"web\" is forbidden: Use of external IPs is denied by admission control";
    EXPECT_EQ(create(*plugin, plain), "");
    EXPECT_EQ(create(*plugin, exposed), Denied);
    EXPECT_EQ(update(*plugin, plain, exposed), Denied);
    EXPECT_EQ(update(*plugin, exposed, more), Denied);
    EXPECT_EQ(update(*plugin, more, exposed), "") << "what was there may stay or go";
    EXPECT_EQ(update(*plugin, exposed, exposed), "");
}

TEST_F(HardeningPlugins, PodsGetTheNodeSelectorOfTheirNamespace) {
    auto plugin = configured(make_pod_node_selector, "PodNodeSelector",
                             R"({"podNodeSelectorPluginConfig":{"clusterDefaultNodeSelector":"zone=x","b":"zone=x"}})");
    Pod made = pod();
    ASSERT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.node_selector, (Labels{{"zone", "x"}}));

    annotate("scheduler.alpha.kubernetes.io/node-selector", "env=dev, disk = ssd");
    made = pod();
    made.spec.node_selector["own"] = "1";
    ASSERT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.node_selector, (Labels{{"disk", "ssd"}, {"env", "dev"}, {"own", "1"}})) << "instead of the cluster's default";
    made = pod();
    made.spec.node_selector["env"] = "production";
    EXPECT_EQ(create(*plugin, made), "pods \"web\" is forbidden: pod node label selector conflicts with its namespace node label selector");

    annotate("scheduler.alpha.kubernetes.io/node-selector", "");
    made = pod();
    ASSERT_EQ(create(*plugin, made), "");
    EXPECT_TRUE(made.spec.node_selector.empty()) << "an empty annotation is a selector, too";
    annotate("scheduler.alpha.kubernetes.io/node-selector", "env");
    EXPECT_EQ(create(*plugin, pod()), "invalid selector: [env]");
    EXPECT_EQ(http_code(error_.reason), 500);
}

TEST_F(HardeningPlugins, PodsSelectOnlyWhatTheirNamespaceMay) {
    auto plugin = configured(make_pod_node_selector, "PodNodeSelector", R"({"podNodeSelectorPluginConfig":{"a":"env=dev,disk=ssd"}})");
    Pod made = pod();
    EXPECT_EQ(create(*plugin, made), "");
    made.spec.node_selector["env"] = "dev";
    EXPECT_EQ(create(*plugin, made), "");
    made.spec.node_selector["zone"] = "x";
    EXPECT_EQ(create(*plugin, made), "pods \"web\" is forbidden: pod node label selector labels conflict with its namespace whitelist");
    const auto broken = try_configured(make_pod_node_selector, "PodNodeSelector", R"({"podNodeSelectorPluginConfig":{"a":"x"}})");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message, "configuration: podNodeSelectorPluginConfig.a: invalid selector: [x]");
}

constexpr const char* ClusterTolerations =
    R"({"apiVersion":"podtolerationrestriction.admission.k8s.io/v1alpha1","kind":"Configuration",)"
    R"("default":[{"key":"k","operator":"Exists","effect":"NoSchedule"}],)"
    R"("whitelist":[{"key":"k","operator":"Exists"},{"key":"n","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]})";
constexpr const char* Conflict =
    "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist";

TEST_F(HardeningPlugins, PodsGetAndKeepToTheTolerationsOfTheirNamespace) {
    auto plugin = configured(make_pod_toleration_restriction, "PodTolerationRestriction", ClusterTolerations);
    Pod made = pod();
    ASSERT_EQ(create(*plugin, made), "");
    ASSERT_EQ(made.spec.tolerations.size(), 1u);
    EXPECT_EQ(made.spec.tolerations[0].key, "k");

    const struct {
        const char* name;
        Toleration toleration;
        bool allowed;
    } rows[] = {
        {"covered by Exists", {.key = "k", .operator_ = "Equal", .value = "v", .effect = "NoExecute"}, true},
        {"as long as allowed", {.key = "n", .operator_ = "Exists", .effect = "NoExecute", .toleration_seconds = 300}, true},
        {"longer", {.key = "n", .operator_ = "Exists", .effect = "NoExecute", .toleration_seconds = 301}, false},
        {"for ever", {.key = "n", .operator_ = "Exists", .effect = "NoExecute"}, false},
        {"another key", {.key = "x", .operator_ = "Exists"}, false},
        {"everything", {.operator_ = "Exists"}, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        made = pod();
        made.spec.tolerations = {row.toleration};
        EXPECT_EQ(create(*plugin, made), row.allowed ? "" : Conflict);
    }

    annotate("scheduler.alpha.kubernetes.io/tolerationsWhitelist", "");
    made = pod();
    made.spec.tolerations = {{.operator_ = "Exists"}};
    EXPECT_EQ(create(*plugin, made), "") << "an empty list of the namespace allows all";
    EXPECT_EQ(made.spec.tolerations.size(), 1u) << "which covers the default one";
    annotate("scheduler.alpha.kubernetes.io/defaultTolerations", R"([{"key":"mine","operator":"Exists"}])");
    EXPECT_EQ(create(*plugin, pod()), Conflict) << "the cluster's list also holds for the namespace's defaults";
    annotate("scheduler.alpha.kubernetes.io/defaultTolerations", "[");
    EXPECT_NE(create(*plugin, pod()), "");
    EXPECT_EQ(http_code(error_.reason), 500);
}

TEST_F(HardeningPlugins, WhereTolerationsAreRestrictedTheyAreFew) {
    auto plugin = configured(make_pod_toleration_restriction, "PodTolerationRestriction", "");
    Pod made = pod();
    for (int i = 0; i < 1000; ++i) made.spec.tolerations.push_back({.key = "k" + std::to_string(i), .operator_ = "Exists"});
    EXPECT_EQ(create(*plugin, made), "");
    made.spec.tolerations.push_back({.key = "k", .operator_ = "Exists"});
    EXPECT_NE(create(*plugin, made).find("no more than 1000 tolerations"), std::string::npos);
}

TEST_F(HardeningPlugins, PodsWithRequestsTolerateMemoryPressure) {
    auto plugin = configured(make_pod_toleration_restriction, "PodTolerationRestriction", "");
    Pod made = pod();
    made.spec.containers[0].resources.requests["memory"] = *Quantity::parse("1Mi");
    ASSERT_EQ(create(*plugin, made), "");
    ASSERT_EQ(made.spec.tolerations.size(), 1u);
    EXPECT_EQ(made.spec.tolerations[0].key, "node.kubernetes.io/memory-pressure");
    ASSERT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.tolerations.size(), 1u) << "once";
}

class EventLimits : public HardeningPlugins {
protected:
    AdmissionPluginPtr limited(const std::string& limits) {
        return configured(make_event_rate_limit, "EventRateLimit", configuration(limits));
    }
    static std::string configuration(const std::string& limits) {
        return R"({"apiVersion":"eventratelimit.admission.k8s.io/v1alpha1","kind":"Configuration","limits":[)" + limits + "]}";
    }
    static api::core::v1::Event event(const char* namespace_, const char* component = "kubelet") {
        auto made = named<api::core::v1::Event>(namespace_, "e");
        made.source.component = component;
        made.involved_object.kind = "Pod";
        made.involved_object.name = "web";
        return made;
    }
};

TEST_F(EventLimits, ABurstPassesAndThenSoManyASecond) {
    auto plugin = limited(R"({"type":"Server","qps":2,"burst":3})");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, event("b")), "Too many requests: limit reached on type Server for key ");
    EXPECT_EQ(error_.reason, Reason::TooManyRequests);
    EXPECT_EQ(update(*plugin, event("a"), event("a")), "Too many requests: limit reached on type Server for key ");
    EXPECT_EQ(remove_object(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, pod()), "") << "only events";
    loop_.advance(500ms);
    EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_NE(create(*plugin, event("a")), "");
    loop_.advance(1h);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_NE(create(*plugin, event("a")), "") << "no more is saved up than the burst";
}

TEST_F(EventLimits, AreCountedByNamespaceUserAndSource) {
    auto plugin = limited(R"({"type":"Namespace","qps":1,"burst":1})");
    EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, event("a")), "Too many requests: limit reached on type Namespace for key a");
    EXPECT_EQ(create(*plugin, event("b")), "");

    plugin = limited(R"({"type":"User","qps":1,"burst":1})");
    EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, event("b")), "Too many requests: limit reached on type User for key jane");

    plugin = limited(R"({"type":"SourceAndObject","qps":1,"burst":1})");
    EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, event("a")), "Too many requests: limit reached on type SourceAndObject for key kubeletPodweb");
    EXPECT_EQ(create(*plugin, event("a", "scheduler")), "");
}

TEST_F(EventLimits, RememberOnlySoManyKeys) {
    auto plugin = limited(R"({"type":"Namespace","qps":1,"burst":1,"cacheSize":2})");
    EXPECT_EQ(create(*plugin, event("a")), "");
    EXPECT_EQ(create(*plugin, event("b")), "");
    EXPECT_EQ(create(*plugin, event("c")), "");
    EXPECT_EQ(create(*plugin, event("a")), "") << "it was forgotten, and begins anew";
    EXPECT_NE(create(*plugin, event("c")), "");
}

TEST_F(EventLimits, AreCheckedAtStart) {
    const auto refusal = [&](const std::string& configuration) {
        const auto made = try_configured(make_event_rate_limit, "EventRateLimit", configuration);
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refusal(configuration("")), "configuration: limits: Invalid value: null: must not be empty");
    EXPECT_EQ(refusal(configuration(R"({"type":"Other","qps":0,"burst":-1})")),
              "configuration: [limits[0].type: Unsupported value: \"Other\": supported values: \"Namespace\", \"Server\", "
              "\"SourceAndObject\", \"User\", limits[0].burst: Invalid value: -1: must be positive, "
              "limits[0].qps: Invalid value: 0: must be positive]");
    EXPECT_EQ(refusal(configuration(R"({"type":"User","qps":1,"burst":1,"cacheSize":-1})")),
              "configuration: limits[0].cacheSize: Invalid value: -1: must not be negative");
    EXPECT_NE(refusal(R"({"kind":"Configuration","limits":[]})"), "");
}

}  // namespace
}  // namespace porthole::apiserver
