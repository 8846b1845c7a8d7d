#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

constexpr const char* Services = "/api/v1/namespaces/default/services";

class Kinds : public ApiServerFixture {
protected:
    static std::string service(const std::string& name, const std::string& spec) {
        return R"({"metadata":{"name":")" + name + R"("},"spec":{"selector":{"a":"b"},)" + spec + "}}";
    }
};

TEST_F(Kinds, DefaultsAPod) {
    const Answer created =
        post(Pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"busybox","ports":[{"containerPort":80}],
        "resources":{"limits":{"cpu":"1","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":80}}}]}})");
    ASSERT_EQ(created.code, 201) << created.text;
    const schema::Value& container = created.body.at_path({"spec", "containers"})->as_array()[0];
    EXPECT_EQ(container.string_at({"imagePullPolicy"}), "Always");
    EXPECT_EQ(container.string_at({"resources", "requests", "memory"}), "1Gi");
    EXPECT_EQ(container.find("ports")->as_array()[0].string_at({"protocol"}), "TCP");
    EXPECT_EQ(container.at_path({"livenessProbe", "failureThreshold"})->as_int(), 3);
    EXPECT_EQ(created.at({"spec", "restartPolicy"}), "Always");
    EXPECT_EQ(created.at({"spec", "dnsPolicy"}), "ClusterFirst");
    EXPECT_EQ(created.at({"status", "phase"}), "Pending");
    EXPECT_EQ(created.at({"status", "qosClass"}), "Guaranteed");
}

TEST_F(Kinds, SysctlsOfAPodAreNamedAsTheKernelDoes) {
    const auto refused = [&](const std::string& name) {
        const Answer created = post(Pods, R"({"metadata":{"generateName":"p-"},"spec":{"containers":[{"name":"c","image":"i"}],
            "securityContext":{"sysctls":[{"name":")" +
                                              name + R"(","value":"1"}]}}})");
        return created.code == 422 && created.text.contains("must have at most 253 characters and match regex");
    };
    for (const char* name : {"kernel.shmmax", "safe-and-unsafe", "net/ipv4/conf/eth_0.1/x"}) EXPECT_FALSE(refused(name)) << name;
    for (const char* name : {"foo-", "bar..", ".a", "a.-b", "A", "a b"}) EXPECT_TRUE(refused(name)) << name;
    EXPECT_TRUE(refused(std::string(254, 'a')));
}

TEST_F(Kinds, TheQosClassIsThatOfThePodsOwnResources) {
    const Answer created = post(Pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"busybox"}],
        "resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}})");
    ASSERT_EQ(created.code, 201) << created.text;
    EXPECT_EQ(created.at({"status", "qosClass"}), "Guaranteed");
}

TEST_F(Kinds, RequestsOfAPodAsAWholeFollowItsLimitsAndItsContainers) {
    const Answer created = post(Pods, R"({"metadata":{"name":"p"},"spec":{"resources":{"limits":{"cpu":"2","memory":"1Gi"}},"containers":[
        {"name":"c","image":"i","resources":{"requests":{"cpu":"300m","ephemeral-storage":"1Gi"}}},
        {"name":"d","image":"i","resources":{"requests":{"cpu":"200m"}}}]}})");
    ASSERT_EQ(created.code, 201) << created.text;
    EXPECT_EQ(schema::to_json(*created.body.at_path({"spec", "resources", "requests"})), R"({"cpu":"500m","memory":"1Gi"})");
    const Answer none = post(Pods, R"({"metadata":{"name":"q"},"spec":{"resources":{"requests":{"memory":"1Gi"}},"containers":[
        {"name":"c","image":"i","resources":{"requests":{"cpu":"300m"}}}]}})");
    EXPECT_EQ(schema::to_json(*none.body.at_path({"spec", "resources"})), R"({"requests":{"memory":"1Gi"}})") << "without limits";
}

TEST_F(Kinds, RefuseBadPodsInKubernetesWords) {
    const struct {
        const char* name;
        const char* body;
        const char* message;
    } rows[] = {
        {"no containers", R"({"metadata":{"name":"p"},"spec":{"containers":[]}})", "Pod \"p\" is invalid: spec.containers: Required value"},
        {"bad name", R"({"metadata":{"name":"P_"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
         "Pod \"P_\" is invalid: metadata.name: Invalid value: \"P_\": a lowercase RFC 1123 subdomain must consist of lower case "
         "alphanumeric "
         "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
        {"restart policy", R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"Maybe","containers":[{"name":"c","image":"i"}]}})",
         "Pod \"p\" is invalid: spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"OnFailure\", \"Never\""},
        {"restart rules without a policy",
         R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","restartPolicyRules":[
             {"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[42]}}]}]}})",
         "Pod \"p\" is invalid: spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"},
        {"an unknown action of a restart rule",
         R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","restartPolicy":"Never","restartPolicyRules":[
             {"action":"Stop","exitCodes":{"operator":"In","values":[42]}}]}]}})",
         "Pod \"p\" is invalid: spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"Stop\": supported values: "
         "\"Restart\", \"RestartAllContainers\""},
        {"a restart rule for no exit code",
         R"({"metadata":{"name":"p"},"spec":{"initContainers":[{"name":"i","image":"i","restartPolicy":"Always","restartPolicyRules":[
             {"action":"Restart"}]}],"containers":[{"name":"c","image":"i"}]}})",
         "Pod \"p\" is invalid: spec.initContainers[0].restartPolicyRules[0].exitCodes: Required value: must be specified"},
        {"a pod's limit below a container's",
         R"({"metadata":{"name":"p"},"spec":{"resources":{"limits":{"cpu":"1"}},
             "containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}]}})",
         "Pod \"p\" is invalid: spec.resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits "
         "of 1"},
        {"a resource that no pod states as a whole",
         R"({"metadata":{"name":"p"},"spec":{"resources":{"requests":{"ephemeral-storage":"1Gi"}},"containers":[{"name":"c","image":"i"}]}})",
         "Pod \"p\" is invalid: spec.resources.requests[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: "
         "\"cpu\", \"hugepages-\", \"memory\""},
        {"two of a name", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}})",
         "Pod \"p\" is invalid: spec.containers[1].name: Duplicate value: \"c\""},
        {"no such volume",
         R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"/x"}]}]}})",
         "Pod \"p\" is invalid: spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
        {"request over limit",
         R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}}]}})",
         "Pod \"p\" is invalid: spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Answer refused = post(Pods, row.body);
        EXPECT_EQ(refused.code, 422);
        EXPECT_EQ(refused.at({"message"}), row.message);
        EXPECT_EQ(refused.at({"details", "kind"}), "Pod");
        EXPECT_FALSE(refused.body.at_path({"details", "causes"})->as_array().empty());
    }
}

TEST_F(Kinds, APodNamesABoundedNumberOfResources) {
    const auto pod = [](int resources) {
        std::string limits;
        for (int i = 0; i < resources; ++i) limits += (i > 0 ? "," : "") + ("\"a.test/" + std::to_string(i)) + "\":\"1\"";
        return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{)" + limits + "}}}]}}";
    };
    EXPECT_EQ(post(Pods, pod(257)).at({"message"}),
              "Pod \"p\" is invalid: spec.containers: Forbidden: the containers of a pod may name 256 different resources at most");
    EXPECT_EQ(post(Pods, pod(256)).code, 201);
}

TEST_F(Kinds, FixAPodsSpecButForItsImage) {
    post(Pods, pod("p"));
    const Answer image = call("PATCH", std::string(Pods) + "/p", R"({"spec":{"containers":[{"name":"c","image":"i:2"}]}})",
                              "application/strategic-merge-patch+json");
    EXPECT_EQ(image.code, 200) << image.text;
    EXPECT_EQ(image.body.at_path({"metadata", "generation"})->as_int(), 2);
    const Answer refused = merge(std::string(Pods) + "/p", R"({"spec":{"hostNetwork":true}})");
    EXPECT_EQ(refused.code, 422);
    EXPECT_TRUE(refused.at({"message"}).starts_with("Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than"));
}

TEST_F(Kinds, GiveServicesAddressesOfTheirOwn) {
    const Answer first = post(Services, service("a", R"("ports":[{"port":80}])"));
    ASSERT_EQ(first.code, 201) << first.text;
    const std::string address(first.at({"spec", "clusterIP"}));
    EXPECT_TRUE(address.starts_with("10.96.")) << address;
    EXPECT_EQ(get("/apis/networking.k8s.io/v1/ipaddresses/" + address).at({"spec", "parentRef", "name"}), "a");
    const Answer taken = post(Services, service("b", R"("clusterIP":")" + address + R"(","ports":[{"port":80}])"));
    EXPECT_EQ(taken.code, 422);
    EXPECT_TRUE(taken.at({"message"}).ends_with("failed to allocate IP " + address + ": provided IP is already allocated")) << taken.text;
    EXPECT_EQ(get(std::string(Services) + "/b").code, 404);
    remove(std::string(Services) + "/a");
    EXPECT_EQ(get("/apis/networking.k8s.io/v1/ipaddresses/" + address).code, 404);
    EXPECT_EQ(post(Services, service("b", R"("clusterIP":")" + address + R"(","ports":[{"port":80}])")).code, 201);
}

TEST_F(Kinds, GiveAndKeepAndReleaseNodePorts) {
    const Answer created = post(Services, service("a", R"("type":"NodePort","ports":[{"port":80}])"));
    ASSERT_EQ(created.code, 201) << created.text;
    const std::int64_t port = created.body.at_path({"spec", "ports"})->as_array()[0].find("nodePort")->as_int();
    EXPECT_GE(port, 30000);
    EXPECT_LE(port, 32767);
    const std::string clash = R"("type":"NodePort","ports":[{"port":80,"nodePort":)" + std::to_string(port) + "}]";
    EXPECT_EQ(post(Services, service("b", clash)).at({"message"}), "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: " +
                                                                       std::to_string(port) + ": provided port is already allocated");
    const Answer kept = put(std::string(Services) + "/a", service("a", R"("type":"NodePort","ports":[{"port":80}])"));
    EXPECT_EQ(kept.body.at_path({"spec", "ports"})->as_array()[0].find("nodePort")->as_int(), port) << kept.text;
    const Answer inner = merge(std::string(Services) + "/a", R"({"spec":{"type":"ClusterIP"}})");
    EXPECT_EQ(inner.body.at_path({"spec", "ports"})->as_array()[0].find("nodePort"), nullptr) << inner.text;
    EXPECT_EQ(post(Services, service("b", clash)).code, 201);
}

TEST_F(Kinds, KeepAServicesAddressWhileItLives) {
    const Answer created = post(Services, service("a", R"("ports":[{"port":80}])"));
    const Answer again = put(std::string(Services) + "/a", service("a", R"("ports":[{"port":81}])"));
    EXPECT_EQ(again.at({"spec", "clusterIP"}), created.at({"spec", "clusterIP"})) << again.text;
    const Answer moved = merge(std::string(Services) + "/a", R"({"spec":{"clusterIP":"10.96.7.7"}})");
    EXPECT_EQ(moved.code, 422);
    EXPECT_TRUE(moved.at({"message"}).contains("may not change once set")) << moved.text;
    const Answer headless = post(Services, service("h", R"("clusterIP":"None")"));
    EXPECT_EQ(headless.body.at_path({"spec", "clusterIPs"})->as_array()[0].as_string(), "None") << headless.text;
}

TEST_F(Kinds, KeepAnEventForAnHourAfterItsLastWrite) {
    const std::string events = "/api/v1/namespaces/default/events";
    const std::string body =
        R"({"metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"count":1})";
    ASSERT_EQ(post(events, body).code, 201);
    ASSERT_TRUE(sim::run(loop, loop.sleep(std::chrono::minutes(50))));
    ASSERT_EQ(merge(events + "/e", R"({"count":2})").code, 200);
    ASSERT_TRUE(sim::run(loop, loop.sleep(std::chrono::minutes(50))));
    EXPECT_EQ(get(events + "/e").code, 200);
    ASSERT_TRUE(sim::run(loop, loop.sleep(std::chrono::minutes(20))));
    EXPECT_EQ(get(events + "/e").code, 404);
}

TEST_F(Kinds, FixSelectorsOfDeployments) {
    const std::string path = "/apis/apps/v1/namespaces/default/deployments";
    const std::string body =
        R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"c"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
    EXPECT_EQ(post(path, body).at({"message"}),
              "Deployment.apps \"d\" is invalid: spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match "
              "template `labels`");
}

TEST_F(Kinds, SealConfigMapsAndTypeSecrets) {
    const std::string maps = "/api/v1/namespaces/default/configmaps", secrets = "/api/v1/namespaces/default/secrets";
    post(maps, R"({"metadata":{"name":"m"},"immutable":true,"data":{"k":"v"}})");
    EXPECT_EQ(merge(maps + "/m", R"({"data":{"k":"w"}})").at({"message"}),
              "ConfigMap \"m\" is invalid: data: Forbidden: field is immutable when `immutable` is set");
    const Answer secret = post(secrets, R"({"metadata":{"name":"s"},"stringData":{"k":"v"}})");
    EXPECT_EQ(secret.at({"type"}), "Opaque");
    EXPECT_EQ(secret.at({"data", "k"}), "dg==");
    EXPECT_EQ(secret.body.find("stringData"), nullptr);
    EXPECT_EQ(post(secrets, R"({"metadata":{"name":"t"},"type":"kubernetes.io/tls","data":{}})")
                  .body.at_path({"details", "causes"})
                  ->as_array()
                  .size(),
              2u);
}

TEST_F(Kinds, HoldAMebibyteOfData) {
    constexpr std::size_t Most = 1 << 20;
    for (const auto& [kind, field] : {std::pair("configmaps", "data"), {"secrets", "stringData"}}) {
        const auto create = [&](const std::string& name, std::size_t size) {
            return post(
                std::string("/api/v1/namespaces/default/") + kind,
                R"({"metadata":{"name":")" + name + R"("},")" + field + R"(":{"a":"x","b":")" + std::string(size - 1, 'x') + R"("}})");
        };
        EXPECT_EQ(create("fits", Most).code, 201) << kind;
        const Answer refused = create("larger", Most + 1);
        EXPECT_EQ(refused.code, 422) << kind;
        EXPECT_NE(refused.text.find("Too long: may not be more than 1048576 bytes"), std::string::npos) << refused.text.substr(0, 500);
    }
}

TEST_F(Kinds, LeasesAreMadeByUpdate) {
    const std::string path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    EXPECT_EQ(put(path, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})").code, 201);
    EXPECT_EQ(put(path, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"you"}})").code, 422) << "then a version is needed";
}

TEST_F(Kinds, EventsAreSeenInBothOfTheirGroups) {
    const Answer created = post(
        "/api/v1/namespaces/default/events",
        R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"R","message":"hello","type":"Normal"})");
    ASSERT_EQ(created.code, 201) << created.text;
    const Answer other = get("/apis/events.k8s.io/v1/namespaces/default/events/e");
    EXPECT_EQ(other.at({"apiVersion"}), "events.k8s.io/v1");
    EXPECT_EQ(other.at({"note"}), "hello");
    EXPECT_EQ(other.at({"regarding", "name"}), "p");
    EXPECT_EQ(get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp").body.find("items")->as_array().size(), 1u);
}

}  // namespace
}  // namespace porthole::apiserver
