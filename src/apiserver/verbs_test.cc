#include <deque>
#include <map>

#include "apiserver/api_server_fixture.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

class Verbs : public ApiServerFixture {
protected:
    /// How often each code came when as many secrets were created at once, by each of the users in turn.
    std::map<int, int> create_at_once(std::initializer_list<std::pair<User, std::size_t>> users) {
        std::deque<HeaderKeeper> keepers;
        std::vector<Task<>> tasks;
        for (const auto& [user, count] : users) {
            for (std::size_t i = 0; i < count; ++i) {
                net::HttpRequest request{.method = "POST",
                                         .path = "/api/v1/namespaces/default/secrets",
                                         .body = R"({"apiVersion":"v1","kind":"Secret","metadata":{"generateName":"s-"}})"};
                tasks.push_back(api->server().handle_as(user, std::move(request), keepers.emplace_back()));
            }
        }
        EXPECT_TRUE(sim::run(loop, when_all(std::move(tasks))));
        std::map<int, int> codes;
        for (const HeaderKeeper& keeper : keepers) ++codes[keeper.code];
        return codes;
    }
};

TEST_F(Verbs, CreatesWithSystemMetadata) {
    const Answer created = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(created.code, 201) << created.text;
    EXPECT_EQ(created.at({"kind"}), "ConfigMap");
    EXPECT_EQ(created.at({"apiVersion"}), "v1");
    EXPECT_EQ(created.at({"metadata", "namespace"}), "default");
    EXPECT_EQ(created.at({"metadata", "uid"}).size(), 36u);
    EXPECT_FALSE(created.at({"metadata", "creationTimestamp"}).empty());
    EXPECT_EQ(created.at({"metadata", "resourceVersion"}), get(std::string(ConfigMaps) + "/a").at({"metadata", "resourceVersion"}));
}

TEST_F(Verbs, RefusesASecondObjectOfTheSameName) {
    post(ConfigMaps, config_map("a"));
    const Answer again = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(again.code, 409);
    EXPECT_EQ(again.at({"reason"}), "AlreadyExists");
    EXPECT_EQ(again.at({"message"}), "configmaps \"a\" already exists");
    EXPECT_EQ(again.at({"details", "kind"}), "configmaps");
}

TEST_F(Verbs, AnswersNotFoundWithDetails) {
    const Answer missing = get("/apis/apps/v1/namespaces/default/deployments/x");
    EXPECT_EQ(missing.code, 404);
    EXPECT_EQ(missing.at({"message"}), "deployments.apps \"x\" not found");
    EXPECT_EQ(missing.at({"details", "group"}), "apps");
    EXPECT_EQ(get("/apis/nowhere/v1/things").at({"message"}), "the server could not find the requested resource");
    EXPECT_EQ(get("/nowhere").text, "404 page not found\n");
}

TEST_F(Verbs, RefusesAnObjectInAMissingNamespace) {
    const Answer refused = post("/api/v1/namespaces/nowhere/configmaps", config_map("a"));
    EXPECT_EQ(refused.code, 404);
    EXPECT_EQ(refused.at({"message"}), "namespaces \"nowhere\" not found");
}

TEST_F(Verbs, RefusesABodyThatDoesNotFitThePath) {
    EXPECT_EQ(post(ConfigMaps, R"({"metadata":{"name":"a","namespace":"other"}})").at({"message"}),
              "the namespace of the provided object does not match the namespace sent on the request");
    const Answer made = post("/apis/rbac.authorization.k8s.io/v1/clusterroles", R"({"metadata":{"name":"r","namespace":"other"}})");
    EXPECT_EQ(made.code, 201);
    EXPECT_EQ(made.at({"metadata", "namespace"}), "");
    post(ConfigMaps, config_map("a"));
    EXPECT_EQ(put(std::string(ConfigMaps) + "/a", config_map("b")).at({"message"}),
              "the name of the object (b) does not match the name on the URL (a)");
    EXPECT_EQ(post(ConfigMaps, R"({"apiVersion":"apps/v1","kind":"ConfigMap","metadata":{"name":"x"}})").code, 400);
    EXPECT_EQ(put(std::string(ConfigMaps) + "/a", R"({"metadata":{}})").at({"message"}),
              "the name of the object (a based on URL) was undeterminable: name must be provided");
}

TEST_F(Verbs, SayWhatABodyThatCannotBeReadBeginsWith) {
    const char* const unrecognized = "the object provided is unrecognized (must be of type ConfigMap): ";
    const struct {
        const char *name, *type, *body, *message;
    } rows[] = {
        {"cut off", "", R"({"a":)", R"(couldn't get version/kind; json parse error: unexpected end of JSON input ({"a":))"},
        {"long", "", R"({"apiVersion":"v1","kind":"ConfigMap")",
         R"(couldn't get version/kind; json parse error: unexpected end of JSON input ({"apiVersion":"v1","kind":"Con ...))"},
        {"YAML", "application/yaml", "a: [b\n",
         "error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']' (613a205b620a)"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Answer refused = call("POST", ConfigMaps, row.body, row.type);
        EXPECT_EQ(refused.code, 400);
        EXPECT_EQ(refused.at({"message"}), std::string(unrecognized) + row.message);
    }
}

TEST_F(Verbs, AnswerAboutADeprecatedKindWithAWarning) {
    const char* const endpoints = "/api/v1/namespaces/default/endpoints";
    const char* const told = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"\n";
    EXPECT_EQ(warnings_of("GET", endpoints), told);
    EXPECT_EQ(warnings_of("POST", endpoints, R"({"metadata":{"name":"e"}})"), told);
    EXPECT_EQ(warnings_of("GET", std::string(endpoints) + "/e"), told);
    EXPECT_EQ(warnings_of("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"), "");
}

TEST_F(Verbs, ShowTheSettingsOfTheServer) {
    const char* const structured = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz";
    const Answer json = call("GET", "/flagz", "", "", structured);
    EXPECT_EQ(json.code, 200) << json.text;
    EXPECT_EQ(json.at({"apiVersion"}), "config.k8s.io/v1beta1");
    EXPECT_TRUE(json.at({"flags", "enable-admission-plugins"}).contains("NodeRestriction"));
    const Answer text = call("GET", "/flagz", "", "", "text/plain");
    EXPECT_TRUE(text.text.contains("\nservice-account-extend-token-expiration=true\n")) << text.text;
    EXPECT_EQ(call("GET", "/flagz", "", "", "application/json").code, 406) << "its form is not stable, so its version must be named";
}

TEST_F(Verbs, GeneratesNames) {
    const Answer created = post(ConfigMaps, R"({"metadata":{"generateName":"web-"}})");
    ASSERT_EQ(created.code, 201) << created.text;
    const std::string_view name = created.at({"metadata", "name"});
    EXPECT_TRUE(name.starts_with("web-"));
    EXPECT_EQ(name.size(), 9u);
    EXPECT_EQ(post(ConfigMaps, "{}").at({"message"}),
              "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
}

TEST_F(Verbs, TryAnotherNameWhenAGeneratedOneIsTaken) {
    const SeededRandom before = random;
    const Answer first = post(ConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"web-"}})");
    ASSERT_EQ(first.code, 201);
    random = before;  // so that the same name is drawn again
    const Answer second = post(ConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"web-"},"data":{"k":"v"}})");
    ASSERT_EQ(second.code, 201);
    EXPECT_NE(second.at({"metadata", "name"}), first.at({"metadata", "name"}));
    EXPECT_EQ(second.at({"data", "k"}), "v");
}

TEST_F(Verbs, KeepsNothingOfADryRun) {
    const Answer dry = post(std::string(ConfigMaps) + "?dryRun=All", config_map("a"));
    EXPECT_EQ(dry.code, 201);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").code, 404);
    EXPECT_EQ(post(std::string(ConfigMaps) + "?dryRun=Some", config_map("a")).code, 422);
    post(ConfigMaps, config_map("a", "one"));
    put(std::string(ConfigMaps) + "/a?dryRun=All", config_map("a", "two"));
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").at({"data", "k"}), "one");
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a?dryRun=All").code, 200);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").code, 200);
}

TEST_F(Verbs, GuardsUpdatesByResourceVersion) {
    const std::string path = std::string(ConfigMaps) + "/a";
    Answer first = post(ConfigMaps, config_map("a", "one"));
    schema::Value newer = first.body;
    newer["data"]["k"] = "two";
    EXPECT_EQ(put(path, schema::to_json(newer)).code, 200);
    const Answer stale = put(path, schema::to_json(first.body));
    EXPECT_EQ(stale.code, 409);
    EXPECT_EQ(stale.at({"reason"}), "Conflict");
    EXPECT_EQ(stale.at({"message"}),
              "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest "
              "version and try again");
    EXPECT_EQ(put(path, config_map("a", "three")).at({"data", "k"}), "three") << "without a version it is forced";
    EXPECT_EQ(put(std::string(ConfigMaps) + "/missing", config_map("missing")).code, 404);
}

TEST_F(Verbs, LeavesTheVersionAloneWhenNothingChanges) {
    const std::string path = std::string(ConfigMaps) + "/a";
    const Answer created = post(ConfigMaps, config_map("a"));
    const Answer same = put(path, schema::to_json(created.body));
    EXPECT_EQ(same.at({"metadata", "resourceVersion"}), created.at({"metadata", "resourceVersion"}));
}

TEST_F(Verbs, KeepsWhatClientsMayNotChange) {
    const std::string path = std::string(ConfigMaps) + "/a";
    const Answer created = post(ConfigMaps, config_map("a"));
    schema::Value changed = created.body;
    changed["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z";
    changed["metadata"]["generation"] = 7;
    EXPECT_EQ(put(path, schema::to_json(changed)).at({"metadata", "creationTimestamp"}), created.at({"metadata", "creationTimestamp"}));
    changed["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111";
    EXPECT_EQ(put(path, schema::to_json(changed)).code, 409);
}

TEST_F(Verbs, CountsGenerationsBySpecAndNotByStatus) {
    const std::string path = "/apis/apps/v1/namespaces/default/deployments";
    const std::string body =
        R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":9}})";
    const Answer created = post(path, body);
    ASSERT_EQ(created.code, 201) << created.text;
    EXPECT_EQ(created.body.at_path({"metadata", "generation"})->as_int(), 1);
    EXPECT_EQ(created.body.at_path({"spec", "replicas"})->as_int(), 1);
    EXPECT_EQ(created.body.at_path({"status", "replicas"}), nullptr) << "status is not for creators";

    const Answer scaled = merge(path + "/d", R"({"spec":{"replicas":3}})");
    EXPECT_EQ(scaled.body.at_path({"metadata", "generation"})->as_int(), 2) << scaled.text;
    const Answer status = merge(path + "/d/status", R"({"status":{"replicas":3,"observedGeneration":2},"spec":{"replicas":8}})");
    EXPECT_EQ(status.body.at_path({"metadata", "generation"})->as_int(), 2);
    EXPECT_EQ(status.body.at_path({"spec", "replicas"})->as_int(), 3);
    EXPECT_EQ(status.body.at_path({"status", "replicas"})->as_int(), 3);
    const Answer labeled = merge(path + "/d", R"({"metadata":{"labels":{"x":"y"}},"status":{"replicas":1}})");
    EXPECT_EQ(labeled.body.at_path({"metadata", "generation"})->as_int(), 2);
    EXPECT_EQ(labeled.body.at_path({"status", "replicas"})->as_int(), 3);
}

TEST_F(Verbs, TellsUnknownFieldsAsTheClientWants) {
    const std::string body = R"({"metadata":{"name":"a"},"data":{"k":"v"},"datum":1})";
    const Answer strict = post(std::string(ConfigMaps) + "?fieldValidation=Strict", body);
    EXPECT_EQ(strict.code, 400);
    EXPECT_EQ(strict.at({"message"}),
              "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"datum\"");
    EXPECT_EQ(post(std::string(ConfigMaps) + "?fieldValidation=Ignore", body).body.find("datum"), nullptr);
}

TEST_F(Verbs, MergesAndRemovesByPatch) {
    const std::string path = std::string(ConfigMaps) + "/a";
    post(ConfigMaps, config_map("a"));
    const Answer patched = merge(path, R"({"metadata":{"labels":{"app":null,"x":"y"}},"data":{"n":"1"}})");
    EXPECT_EQ(patched.code, 200);
    EXPECT_EQ(patched.at({"data", "k"}), "v");
    EXPECT_EQ(patched.at({"data", "n"}), "1");
    EXPECT_EQ(patched.body.at_path({"metadata", "labels", "app"}), nullptr);
    EXPECT_EQ(merge(path, R"({"metadata":{"resourceVersion":"1"},"data":{"n":"2"}})").code, 409);
    const Answer json = call("PATCH", path, R"([{"op":"replace","path":"/data/n","value":"3"}])", "application/json-patch+json");
    EXPECT_EQ(json.at({"data", "n"}), "3") << json.text;
    EXPECT_EQ(call("PATCH", path, "{}", "application/json").code, 415);
}

TEST_F(Verbs, AppliesAndReportsConflictsOfManagers) {
    const std::string path = std::string(ConfigMaps) + "/a";
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":")";
    const auto apply = [&](const char* value, const char* manager) {
        return call("PATCH", path + "?fieldManager=" + manager, body + value + "\"}}", "application/apply-patch+yaml");
    };
    EXPECT_EQ(apply("1", "one").code, 201);
    EXPECT_EQ(apply("2", "one").code, 200);
    const Answer conflict = apply("3", "two");
    EXPECT_EQ(conflict.code, 409);
    EXPECT_EQ(conflict.at({"message"}), "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    EXPECT_EQ(apply("3", "two&force=true").at({"data", "k"}), "3");
    EXPECT_EQ(call("PATCH", path, body + "4\"}}", "application/apply-patch+yaml").code, 422) << "a manager is required";
}

TEST_F(Verbs, AppliesOnlyWhatTheSchemaDeclares) {
    const auto apply = [&](const char* body, const char* validation) {
        return call("PATCH", std::string(ConfigMaps) + "/a?fieldManager=m&fieldValidation=" + validation, body,
                    "application/apply-patch+yaml");
    };
    constexpr const char* Unknown = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, labls: {}}\ndatum: 1\n";
    for (const char* validation : {"Strict", "Warn", "Ignore"}) {
        const Answer refused = apply(Unknown, validation);
        EXPECT_EQ(refused.code, 500);
        EXPECT_EQ(refused.at({"message"}),
                  "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): errors:\n"
                  "  .metadata.labls: field not declared in schema\n  .datum: field not declared in schema");
    }
    constexpr const char* Twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: v\n  k: w\n";
    const Answer refused = apply(Twice, "Strict");
    EXPECT_EQ(refused.code, 400);
    EXPECT_EQ(refused.at({"message"}),
              "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key \"k\" already set in map");
    EXPECT_EQ(apply(Twice, "Ignore").at({"data", "k"}), "w");
}

TEST_F(Verbs, DeletesAtOnceOrWaitsForFinalizers) {
    post(ConfigMaps, config_map("a"));
    const Answer gone = remove(std::string(ConfigMaps) + "/a");
    EXPECT_EQ(gone.at({"kind"}), "Status");
    EXPECT_EQ(gone.at({"status"}), "Success");
    EXPECT_EQ(gone.at({"details", "name"}), "a");

    post(ConfigMaps, R"({"metadata":{"name":"b","finalizers":["example.com/wait"]}})");
    const Answer waiting = remove(std::string(ConfigMaps) + "/b");
    EXPECT_FALSE(waiting.at({"metadata", "deletionTimestamp"}).empty()) << waiting.text;
    EXPECT_EQ(merge(std::string(ConfigMaps) + "/b", R"({"metadata":{"finalizers":["example.com/wait","example.com/more"]}})").code, 422);
    EXPECT_EQ(merge(std::string(ConfigMaps) + "/b", R"({"metadata":{"finalizers":null}})").code, 200);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/b").code, 404);
}

TEST_F(Verbs, AddsFinalizersForPropagation) {
    post(ConfigMaps, config_map("a"));
    const Answer foreground = remove(std::string(ConfigMaps) + "/a", R"({"propagationPolicy":"Foreground"})");
    EXPECT_EQ(foreground.body.at_path({"metadata", "finalizers"})->as_array().at(0).as_string(), "foregroundDeletion");
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a", R"({"propagationPolicy":"Sideways"})").code, 422);
}

TEST_F(Verbs, ChecksPreconditionsOfADelete) {
    post(ConfigMaps, config_map("a"));
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a", R"({"preconditions":{"uid":"other"}})").code, 409);
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a", R"({"preconditions":{"resourceVersion":"1"}})").code, 409);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").code, 200);
}

TEST_F(Verbs, GivesScheduledPodsTheirGracePeriod) {
    post(Pods, pod("free"));
    EXPECT_EQ(remove(std::string(Pods) + "/free").at({"status"}), "Success") << "nothing runs yet";
    ASSERT_EQ(post(Pods, pod("bound", R"(,"nodeName":"n1")")).code, 201);
    const Answer first = remove(std::string(Pods) + "/bound");
    EXPECT_EQ(first.body.at_path({"metadata", "deletionGracePeriodSeconds"})->as_int(), 30) << first.text;
    const Answer longer = remove(std::string(Pods) + "/bound?gracePeriodSeconds=60");
    EXPECT_EQ(longer.body.at_path({"metadata", "deletionGracePeriodSeconds"})->as_int(), 30);
    const Answer shorter = remove(std::string(Pods) + "/bound?gracePeriodSeconds=5");
    EXPECT_EQ(shorter.body.at_path({"metadata", "deletionGracePeriodSeconds"})->as_int(), 5);
    EXPECT_EQ(remove(std::string(Pods) + "/bound?gracePeriodSeconds=0").at({"status"}), "Success");
}

TEST_F(Verbs, AGracePeriodMayBeAnyNumber) {
    ASSERT_EQ(post(Pods, pod("bound", R"(,"nodeName":"n1")")).code, 201);
    const Answer removed = remove(std::string(Pods) + "/bound?gracePeriodSeconds=9223372036854775807");
    EXPECT_EQ(removed.body.at_path({"metadata", "deletionGracePeriodSeconds"})->as_int(), INT64_MAX) << removed.text;
    EXPECT_GT(removed.at({"metadata", "deletionTimestamp"}), "2050");
    const Answer shorter = remove(std::string(Pods) + "/bound?gracePeriodSeconds=5");
    EXPECT_EQ(shorter.body.at_path({"metadata", "deletionGracePeriodSeconds"})->as_int(), 5) << shorter.text;
}

TEST_F(Verbs, DeletesACollectionBySelector) {
    for (const char* name : {"a", "b", "c"}) post(ConfigMaps, config_map(name, std::string(name) == "c" ? "keep" : "drop"));
    const Answer removed = remove(std::string(ConfigMaps) + "?labelSelector=app%3Ddrop");
    EXPECT_EQ(removed.at({"kind"}), "ConfigMapList");
    EXPECT_EQ(removed.body.find("items")->as_array().size(), 2u);
    EXPECT_EQ(get(ConfigMaps).body.find("items")->as_array().size(), 1u);
}

TEST_F(Verbs, DeletionsOfACollectionShareSyncs) {
    for (int i = 0; i < 64; ++i) post(ConfigMaps, config_map("c" + std::to_string(i)));
    const std::size_t before = disk.append_count();
    EXPECT_EQ(remove(ConfigMaps).body.find("items")->as_array().size(), 64u);
    EXPECT_LE(disk.append_count() - before, 8u);
}

TEST_F(Verbs, EndsANamespaceOnlyWhenItsFinalizersAreGone) {
    post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
    const Answer going = remove("/api/v1/namespaces/n");
    EXPECT_EQ(going.at({"status", "phase"}), "Terminating") << going.text;
    const Answer refused = post("/api/v1/namespaces/n/configmaps", config_map("a"));
    EXPECT_EQ(refused.code, 403);
    EXPECT_EQ(remove("/api/v1/namespaces/default").code, 403);
}

/// Requests in flight are counted.
class VerbsWithoutFairness : public Verbs {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = Verbs::options();
        chosen.priority_and_fairness = false;
        return chosen;
    }
};

TEST_F(VerbsWithoutFairness, RefuseMoreAtOnceThanTheLimitButNeverForMasters) {
    const User manager{.name = "system:kube-controller-manager"};
    EXPECT_EQ(create_at_once({{manager, 203}}), (std::map<int, int>{{201, 200}, {429, 3}}));
    EXPECT_EQ(create_at_once({{loopback_user(), 300}, {manager, 200}}), (std::map<int, int>{{201, 500}})) << "masters take no place";
}

TEST_F(Verbs, RefuseSubresourcesAndVerbsThatAreNotServed) {
    post(Pods, pod("p"));
    EXPECT_EQ(get(std::string(Pods) + "/p/colour").code, 404);
    EXPECT_EQ(remove(std::string(Pods) + "/p/status").code, 405);
    EXPECT_EQ(post(std::string(Pods) + "/p", pod("p")).code, 405);
    EXPECT_EQ(call("GET", "/api/v1/namespaces/default/bindings").code, 405);
    EXPECT_EQ(get("/api/v1/namespaces/default/nodes").code, 404);
}

TEST_F(Verbs, FindNothingWhereThePathLacksTheNamespace) {
    post(ConfigMaps, config_map("a"));
    EXPECT_EQ(get("/api/v1/configmaps/a").code, 404);
    EXPECT_EQ(put("/api/v1/configmaps/a", config_map("a")).code, 404);
    EXPECT_EQ(remove("/api/v1/configmaps/a").code, 404);
    EXPECT_EQ(get("/api/v1/configmaps").code, 200);
    EXPECT_EQ(post("/api/v1/configmaps", config_map("b")).code, 405);
    EXPECT_EQ(remove("/api/v1/configmaps").code, 405);
}

TEST_F(Verbs, ServeStableVersionsOnly) {
    EXPECT_EQ(get("/apis/resource.k8s.io/v1/deviceclasses").code, 200);
    EXPECT_EQ(get("/apis/resource.k8s.io/v1beta1/deviceclasses").code, 404);
    EXPECT_EQ(get("/api/v1/componentstatuses/scheduler").at({"kind"}), "ComponentStatus");
    EXPECT_TRUE(get("/metrics").text.contains("apiserver_storage_objects{resource=\"namespaces\"} 4"));
    EXPECT_TRUE(get("/readyz?verbose").text.ends_with("readyz check passed\n"));
    EXPECT_EQ(get("/livez/nothing").code, 404);
}

TEST_F(Verbs, RenewalsOfANodesLeaseWaitForOthersToShareTheirSync) {
    const auto renewal_time = [this](const std::string& namespace_) {
        const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/" + namespace_ + "/leases";
        EXPECT_EQ(post(leases, R"({"metadata":{"name":"n"},"spec":{"holderIdentity":"n"}})").code, 201);
        const MonotonicTime before = loop.now();
        EXPECT_EQ(merge(leases + "/n", R"({"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}})").code, 200);
        return loop.now() - before;
    };
    EXPECT_EQ(renewal_time("kube-node-lease"), std::chrono::milliseconds(100));
    EXPECT_EQ(renewal_time("default"), Duration::zero()) << "an elected leader waits for its renewal";
}

}  // namespace
}  // namespace porthole::apiserver
