#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

constexpr const char* Deployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr const char* Budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

class Subresources : public ApiServerFixture {
protected:
    void make_deployment() {
        post(
            Deployments,
            R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"x","operator":"Exists"}]},
            "template":{"metadata":{"labels":{"a":"b","x":""}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    }
    Answer bind(const std::string& pod, const std::string& node) {
        return post(std::string(Pods) + "/" + pod + "/binding",
                    R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":")" + node + R"("}})");
    }
    /// A running, ready pod with the label a=b.
    void make_running_pod(const std::string& name) {
        post(Pods, R"({"metadata":{"name":")" + name +
                       R"(","labels":{"a":"b"}},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})");
        merge(std::string(Pods) + "/" + name + "/status",
              R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
    }
    Answer evict(const std::string& name, const std::string& version = "policy/v1") {
        return post(std::string(Pods) + "/" + name + "/eviction",
                    R"({"apiVersion":")" + version + R"(","kind":"Eviction","metadata":{"name":")" + name + R"("}})");
    }
};

// As in Go's JSON, where a struct without content is an empty object.
TEST_F(Subresources, AnEmptyStatusIsThereForAJsonPatch) {
    const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    const Answer made =
        post(claims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}]}},
                                        "status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}})");
    ASSERT_EQ(made.code, 201) << made.text;
    ASSERT_TRUE(made.body.find("status"));
    EXPECT_TRUE(made.body.find("status")->as_object().empty()) << "what a creator says of it is not taken";
    const Answer patched =
        call("PATCH", claims + "/c/status", R"([{"op":"add","path":"/status/allocation","value":{}}])", "application/json-patch+json");
    EXPECT_EQ(patched.code, 200) << patched.text;
}

TEST_F(Subresources, ScaleShowsAndChangesReplicas) {
    make_deployment();
    const Answer scale = get(std::string(Deployments) + "/d/scale");
    EXPECT_EQ(scale.at({"kind"}), "Scale") << scale.text;
    EXPECT_EQ(scale.at({"apiVersion"}), "autoscaling/v1");
    EXPECT_EQ(scale.body.at_path({"spec", "replicas"})->as_int(), 2);
    EXPECT_EQ(scale.at({"status", "selector"}), "a=b,x");
    EXPECT_EQ(merge(std::string(Deployments) + "/d/scale", R"({"spec":{"replicas":5}})").body.at_path({"spec", "replicas"})->as_int(), 5);
    const Answer stale = put(std::string(Deployments) + "/d/scale", schema::to_json(scale.body));
    EXPECT_EQ(stale.code, 409);
    EXPECT_EQ(merge(std::string(Deployments) + "/d/scale", R"({"spec":{"replicas":-1}})").code, 422);
    const Answer deployment = get(std::string(Deployments) + "/d");
    EXPECT_EQ(deployment.body.at_path({"spec", "replicas"})->as_int(), 5);
    EXPECT_EQ(deployment.body.at_path({"metadata", "generation"})->as_int(), 2);
}

TEST_F(Subresources, ABindingIsNoChangeOfThePodsSpecification) {
    post(Pods, pod("p"));
    ASSERT_EQ(bind("p", "n1").code, 201);
    EXPECT_EQ(get(std::string(Pods) + "/p").body.at_path({"metadata", "generation"})->as_int(), 1);
    const Answer debugged =
        merge(std::string(Pods) + "/p/ephemeralcontainers",
              R"({"spec":{"ephemeralContainers":[{"name":"debugger","image":"i","terminationMessagePolicy":"File"}]}})");
    EXPECT_EQ(debugged.body.at_path({"metadata", "generation"})->as_int(), 2) << debugged.text;
}

TEST_F(Subresources, ScaleIsAppliedByManagersThatOwnTheNumber) {
    make_deployment();
    const std::string path = std::string(Deployments) + "/d/scale";
    const auto apply = [&](const char* manager, const char* replicas, const char* more = "") {
        return call(
            "PATCH", path + "?fieldManager=" + manager + more,
            std::string(R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":)") + replicas + "}}",
            "application/apply-patch+yaml");
    };
    const Answer refused = apply("scaler", "7");
    EXPECT_EQ(refused.code, 409) << "who made the deployment owns its replicas: " << refused.text;
    const Answer forced = apply("scaler", "7", "&force=true");
    EXPECT_EQ(forced.at({"kind"}), "Scale") << forced.text;
    EXPECT_EQ(forced.body.at_path({"spec", "replicas"})->as_int(), 7);
    EXPECT_EQ(apply("scaler", "8").body.at_path({"spec", "replicas"})->as_int(), 8);
    EXPECT_EQ(apply("another", "9").code, 409);
    EXPECT_EQ(apply("scaler", "-1").code, 422);
    const Answer deployment = get(std::string(Deployments) + "/d");
    EXPECT_NE(deployment.text.find(R"("manager":"scaler","operation":"Apply")"), std::string::npos);
    EXPECT_NE(deployment.text.find(R"("subresource":"scale")"), std::string::npos);
    EXPECT_EQ(deployment.body.at_path({"spec", "replicas"})->as_int(), 8);
}

TEST_F(Subresources, ResizeChangesThePodAsAWhole) {
    post(Pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",
        "resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"200m"}}}]}})");
    const std::string path = std::string(Pods) + "/p/resize";
    const auto resize = [&](const std::string& resources) { return merge(path, R"({"spec":{"resources":)" + resources + "}}"); };
    const Answer added = resize(R"({"requests":{"cpu":"200m"},"limits":{"cpu":"1"}})");
    ASSERT_EQ(added.code, 200) << added.text;
    EXPECT_EQ(added.at({"spec", "resources", "limits", "cpu"}), "1");
    EXPECT_EQ(added.body.at_path({"metadata", "generation"})->as_int(), 2);
    const struct {
        const char *what, *resources, *message;
    } rows[] = {
        {"all of it", "null", "spec.resources: Forbidden: pod-level resources cannot be removed"},
        {"the limits", R"({"limits":null})", "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"},
        {"huge pages", R"({"requests":{"hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}})",
         "spec: Forbidden: only cpu and memory resources are mutable at pod-level"},
        {"less than its containers", R"({"requests":{"cpu":"50m"}})",
         "spec.resources.requests[cpu]: Invalid value: \"50m\": must be greater than or equal to aggregate container requests of 100m"},
        {"another class", R"({"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}})",
         "Pod QOS Class may not change as a result of resizing"},
    };
    for (const auto& row : rows) {
        const Answer refused = resize(row.resources);
        EXPECT_EQ(refused.code, 422) << row.what << refused.text;
        EXPECT_TRUE(refused.at({"message"}).contains(row.message)) << row.what << ": " << refused.at({"message"});
    }
}

TEST_F(Subresources, ResizeChangesCpuAndMemoryAlone) {
    post(Pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",
        "resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"200m"}}}]}})");
    const std::string path = std::string(Pods) + "/p/resize";
    const auto resize = [&](const std::string& resources, const std::string& more = "") {
        return merge(path, R"({"spec":{"containers":[{"name":"c","image":"other","resources":)" + resources + "}]" + more + "}}");
    };
    const Answer resized = resize(R"({"requests":{"cpu":"150m"},"limits":{"cpu":"300m"}})", R"(,"priority":7)");
    ASSERT_EQ(resized.code, 200) << resized.text;
    const schema::Value& container = resized.body.at_path({"spec", "containers"})->as_array().at(0);
    EXPECT_EQ(container.string_at({"resources", "limits", "cpu"}), "300m");
    EXPECT_EQ(container.string_at({"image"}), "i") << "nothing else is written";
    EXPECT_EQ(resized.body.at_path({"metadata", "generation"})->as_int(), 2);
    EXPECT_EQ(get(path).text, get(std::string(Pods) + "/p").text);

    const auto refusal = [&](const std::string& resources) {
        const Answer refused = resize(resources);
        EXPECT_EQ(refused.code, 422) << refused.text;
        return std::string(refused.at({"message"}));
    };
    EXPECT_TRUE(refusal(R"({"requests":{"cpu":"150m"},"limits":null})")
                    .contains("spec.containers[0].resources.limits: Forbidden: "
                              "resource limits cannot be removed"));
    EXPECT_TRUE(refusal(R"({"requests":{"cpu":"300m","memory":"1Gi"},"limits":{"cpu":"300m","memory":"1Gi"}})")
                    .contains("Pod QOS Class may not change as a result of resizing"));
    EXPECT_TRUE(refusal(R"({"requests":{"cpu":"150m","ephemeral-storage":"1Gi"},"limits":{"cpu":"300m"}})")
                    .contains("only cpu and memory resources are mutable"));
    EXPECT_TRUE(merge(path, R"({"spec":{"containers":[]}})").text.contains("containers may not be added or removed on resize"));
    EXPECT_EQ(
        merge(std::string(Pods) + "/p", R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}})").code,
        422)
        << "not through the pod itself";
}

TEST_F(Subresources, BindingPlacesAPodOnce) {
    post(Pods, pod("p"));
    const Answer bound = bind("p", "n1");
    EXPECT_EQ(bound.code, 201) << bound.text;
    const Answer placed = get(std::string(Pods) + "/p");
    EXPECT_EQ(placed.at({"spec", "nodeName"}), "n1");
    EXPECT_EQ(placed.body.at_path({"status", "conditions"})->as_array()[0].string_at({"type"}), "PodScheduled");
    const Answer again = bind("p", "n2");
    EXPECT_EQ(again.code, 409);
    EXPECT_EQ(again.at({"message"}), "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\"");
    post(Pods, pod("q"));
    const Answer other = post("/api/v1/namespaces/default/bindings", R"({"metadata":{"name":"q"},"target":{"kind":"Node","name":"n1"}})");
    EXPECT_EQ(other.code, 201) << other.text;
    EXPECT_EQ(bind("missing", "n1").code, 404);
    EXPECT_EQ(bind("q", "").code, 422);
}

TEST_F(Subresources, ABoundPodGetsTheZoneAndRegionOfItsNode) {
    post("/api/v1/nodes",
         R"({"metadata":{"name":"here","labels":{"topology.kubernetes.io/zone":"a","topology.kubernetes.io/region":"b","x":"y"}}})");
    post(Pods, R"({"metadata":{"name":"p","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    EXPECT_EQ(bind("p", "here").code, 201);
    const Answer placed = get(std::string(Pods) + "/p");
    EXPECT_EQ(schema::to_json(*placed.body.at_path({"metadata", "labels"})),
              R"({"app":"web","topology.kubernetes.io/region":"b","topology.kubernetes.io/zone":"a"})");
}

TEST_F(Subresources, ANodeDeclaresFeaturesByNameAndInOrder) {
    post("/api/v1/nodes", R"({"metadata":{"name":"here"}})");
    const auto refusal = [&](const std::string& list) {
        const Answer answer = merge("/api/v1/nodes/here/status", R"({"status":{"declaredFeatures":)" + list + "}}");
        return answer.code == 200 ? std::string() : std::string(answer.at({"message"}));
    };
    EXPECT_EQ(refusal(R"(["A","B/c","B2"])"), "");
    EXPECT_TRUE(refusal(R"(["B","A"])").contains("status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically"));
    EXPECT_TRUE(refusal(R"(["A","A"])").contains("status.declaredFeatures[1]: Duplicate value: \"A\""));
    for (const char* name : {"a", "A/", "A/1", "A-b", "", "/A"})
        EXPECT_TRUE(refusal("[\"" + std::string(name) + "\"]").contains("must start with an UpperCamelCase segment")) << name;
    EXPECT_TRUE(refusal("[\"" + std::string(254, 'A') + "\"]").contains("must be no more than 253 characters"));
}

TEST_F(Subresources, ABindingKeepsTheRestOfThePod) {
    post(Pods, R"({"metadata":{"name":"p","annotations":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    merge(std::string(Pods) + "/p/status",
          R"({"status":{"nominatedNodeName":"n0","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"},
              {"type":"x","status":"True"}]}})");
    const Answer bound =
        post(std::string(Pods) + "/p/binding", R"({"metadata":{"name":"p","annotations":{"c":"d"}},"target":{"kind":"Node","name":"n1"}})");
    ASSERT_EQ(bound.code, 201) << bound.text;
    const Answer placed = get(std::string(Pods) + "/p");
    EXPECT_EQ(placed.at({"metadata", "annotations", "a"}), "b");
    EXPECT_EQ(placed.at({"metadata", "annotations", "c"}), "d");
    EXPECT_EQ(placed.at({"spec", "restartPolicy"}), "Always");
    EXPECT_EQ(placed.at({"status", "phase"}), "Pending");
    const schema::Array& conditions = placed.body.at_path({"status", "conditions"})->as_array();
    ASSERT_EQ(conditions.size(), 2u) << placed.text;
    EXPECT_EQ(conditions[0].string_at({"status"}), "True");
    EXPECT_EQ(conditions[0].string_at({"reason"}), "");
    EXPECT_EQ(*conditions[0].at_path({"observedGeneration"}), *placed.body.at_path({"metadata", "generation"}));
    EXPECT_FALSE(placed.body.at_path({"status", "nominatedNodeName"})) << "it is nominated no longer";
    EXPECT_EQ(conditions[1].string_at({"type"}), "x");
    const schema::Array& managers = placed.body.at_path({"metadata", "managedFields"})->as_array();
    EXPECT_EQ(std::ranges::count_if(managers,
                                    [](const schema::Value& one) {
                                        return one.string_at({"subresource"}) == "binding" &&
                                               one.at_path({"fieldsV1", "f:spec", "f:nodeName"});
                                    }),
              1)
        << placed.text;
}

TEST_F(Subresources, StatusChangesNothingElse) {
    make_running_pod("p");
    const Answer changed = merge(std::string(Pods) + "/p/status", R"({"spec":{"nodeName":"n2"},"status":{"podIP":"10.244.0.9"}})");
    EXPECT_EQ(changed.at({"spec", "nodeName"}), "n1");
    EXPECT_EQ(changed.at({"status", "podIP"}), "10.244.0.9");
    EXPECT_EQ(get("/api/v1/pods?fieldSelector=status.podIP%3D10.244.0.9").body.find("items")->as_array().size(), 1u);
}

TEST_F(Subresources, EvictionAsksTheBudget) {
    make_running_pod("p");
    post(Budgets, R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}})");
    const Answer early = evict("p");
    EXPECT_EQ(early.code, 429);
    EXPECT_EQ(early.body.at_path({"details", "causes"})->as_array()[0].string_at({"message"}),
              "The disruption budget b is still being processed by the server.");
    merge(std::string(Budgets) + "/b/status",
          R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}})");
    const Answer refused = evict("p");
    EXPECT_EQ(refused.code, 429) << refused.text;
    EXPECT_EQ(refused.at({"message"}), "Cannot evict pod as it would violate the pod's disruption budget.");
    EXPECT_EQ(refused.body.at_path({"details", "causes"})->as_array()[0].string_at({"message"}),
              "The disruption budget b needs 1 healthy pods and has 1 currently");
    merge(std::string(Budgets) + "/b/status",
          R"({"status":{"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"no scale",)"
          R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
    EXPECT_EQ(evict("p").body.at_path({"details", "causes"})->as_array()[0].string_at({"message"}),
              "The disruption budget b does not allow evicting pods currently because it failed sync: no scale");
    merge(std::string(Budgets) + "/b/status", R"({"status":{"disruptionsAllowed":1}})");
    const Answer evicted = evict("p", "policy/v1beta1");
    EXPECT_EQ(evicted.code, 201) << evicted.text;
    EXPECT_FALSE(get(std::string(Pods) + "/p").at({"metadata", "deletionTimestamp"}).empty());
    const Answer budget = get(std::string(Budgets) + "/b");
    EXPECT_EQ(budget.body.at_path({"status", "disruptionsAllowed"})->as_int(), 0);
    EXPECT_NE(budget.body.at_path({"status", "disruptedPods", "p"}), nullptr);
}

TEST_F(Subresources, FinalizeLetsANamespaceGo) {
    post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
    Answer going = remove("/api/v1/namespaces/n");
    going.body["spec"]["finalizers"] = schema::Value::array();
    EXPECT_EQ(put("/api/v1/namespaces/n/finalize", schema::to_json(going.body)).code, 200);
    EXPECT_EQ(get("/api/v1/namespaces/n").code, 404);
}

TEST_F(Subresources, EphemeralContainersCanOnlyBeAdded) {
    make_running_pod("p");
    const std::string path = std::string(Pods) + "/p/ephemeralcontainers";
    const auto patch = [&](const char* body) { return call("PATCH", path, body, "application/strategic-merge-patch+json"); };
    const Answer added = patch(R"({"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox","targetContainerName":"c"}]}})");
    EXPECT_EQ(added.code, 200) << added.text;
    EXPECT_EQ(added.body.at_path({"spec", "ephemeralContainers"})->as_array().size(), 1u);
    EXPECT_EQ(patch(R"({"spec":{"ephemeralContainers":[{"name":"debug","image":"other"}]}})").code, 422);
    EXPECT_EQ(patch(R"({"spec":{"ephemeralContainers":[{"name":"more","image":"i","targetContainerName":"nobody"}]}})").code, 422);
}

TEST_F(Subresources, EphemeralContainersHaveNothingThatNeedsARestartOrAPartOfAVolume) {
    make_running_pod("p");
    const struct {
        const char *part, *field;
    } rows[] = {
        {R"("ports":[{"containerPort":80}])", "ports"},
        {R"("lifecycle":{"preStop":{"sleep":{"seconds":1}}})", "lifecycle"},
        {R"("readinessProbe":{"exec":{"command":["true"]}})", "readinessProbe"},
        {R"("resources":{"requests":{"cpu":"1"}})", "resources"},
        {R"("resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}])", "resizePolicy"},
        {R"("restartPolicy":"Never")", "restartPolicy"},
        {R"("restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}])", "restartPolicyRules"},
        {R"("volumeMounts":[{"name":"v","mountPath":"/v","subPath":"a"}])", "volumeMounts[0].subPath"},
        {R"("volumeMounts":[{"name":"v","mountPath":"/v","subPathExpr":"a"}])", "volumeMounts[0].subPathExpr"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.field);
        const Answer refused = call("PATCH", std::string(Pods) + "/p/ephemeralcontainers",
                                    std::string(R"({"spec":{"ephemeralContainers":[{"name":"debug","image":"i",)") + row.part + "}]}}",
                                    "application/strategic-merge-patch+json");
        EXPECT_EQ(refused.code, 422);
        const std::string expected =
            "spec.ephemeralContainers[0]." + std::string(row.field) + ": Forbidden: cannot be set for an Ephemeral Container";
        EXPECT_TRUE(refused.text.contains(expected)) << refused.text;
    }
}

TEST_F(Subresources, LogsNeedAPlacedPodAndAKnownContainer) {
    post(Pods, pod("p"));
    EXPECT_EQ(get(std::string(Pods) + "/p/log").at({"message"}), "pod p does not have a host assigned");
    EXPECT_EQ(get(std::string(Pods) + "/p/log?container=x").at({"message"}), "container x is not valid for pod p");
    EXPECT_EQ(get(std::string(Pods) + "/p/log?tailLines=-1").code, 422);
    EXPECT_EQ(get(std::string(Pods) + "/missing/log").code, 404);
    make_running_pod("q");
    EXPECT_EQ(get(std::string(Pods) + "/q/log").at({"message"}), "nodes \"n1\" not found");
}

}  // namespace
}  // namespace porthole::apiserver
