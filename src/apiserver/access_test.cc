#include <algorithm>
#include <deque>

#include "apiserver/access_fixture.h"

namespace porthole::apiserver {
namespace {

TEST_F(Access, ToOneNameShowsNoOtherObjectByAnyRouteOfAnyKind) {
    grant(R"({"apiGroups":["*"],"resources":["*"],"verbs":["get","list","watch"],"resourceNames":["mine"]})");
    int routes = 0;
    for (const schema::Kind* kind : api->registry().kinds()) {
        if (!kind->is(schema::Kind::Resource) || !kind->has_verb("list") || !kind->has_verb("watch")) continue;
        put_bare(*kind, "mine");
        put_bare(*kind, "hidden");
        const std::string root = (kind->group.empty() ? "/api/" : "/apis/" + std::string(kind->group) + "/") + std::string(kind->version);
        const std::string in = kind->namespaced() ? "/namespaces/default/" : "/";
        const std::string plural(kind->plural);
        const std::string paths[] = {
            root + in + plural + "?fieldSelector=metadata.name%3Dmine",
            root + in + plural + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dmine",
            root + "/" + plural + "?fieldSelector=metadata.name%3Dmine",
            root + in + plural + "?fieldSelector=metadata.namespace!=x%5C,metadata.name=mine",
            root + in + plural + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.namespace!=x%5C,metadata.name=mine",
            root + in + plural + "?fieldSelector=metadata.name!=x%5C,metadata.name=mine",
            root + in + plural + "?fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dhidden",
            root + in + plural + "?fieldSelector=metadata.name!%3Dmine",
            root + in + plural + "/mine?watch=1&timeoutSeconds=1",
            root + in + plural + "/mine?fieldSelector=metadata.name%3Dhidden",
            root + "/watch" + in + plural + "/mine?timeoutSeconds=1",
            root + "/watch" + in + plural + "/mine?timeoutSeconds=1&fieldSelector=metadata.name!%3Dmine",
            root + "/watch" + in + plural + "/mine?timeoutSeconds=1&fieldSelector=metadata.name%3Dhidden",
            root + "/watch" + in + plural + "?timeoutSeconds=1&fieldSelector=metadata.name%3Dmine",
            root + "/watch" + in + plural + "/mine/status?timeoutSeconds=1",
            root + "/watch/" + plural + "/mine?timeoutSeconds=1",
        };
        for (const std::string& path : paths) {
            const StreamKeeper answer = as(jane(), "GET", path);
            EXPECT_FALSE(answer.body.contains(R"("name":"hidden")")) << path << "\n" << answer.code << " " << answer.body;
            ++routes;
        }
        EXPECT_EQ(as(jane(), "DELETE", root + in + plural + "?fieldSelector=metadata.name%3Dmine").code, 403) << plural;
        EXPECT_TRUE(as(jane(), "GET", paths[0]).body.contains(R"("name":"mine")")) << paths[0];
        EXPECT_TRUE(as(jane(), "GET", paths[10]).body.contains(R"("name":"mine")")) << paths[10];
    }
    EXPECT_GT(routes, 500);
}

TEST_F(Access, ToPatchOrUpdateCreatesNothing) {
    grant(R"({"apiGroups":["","coordination.k8s.io"],"resources":["configmaps","leases"],"verbs":["get","patch","update"]})");
    const std::string config_maps = "/api/v1/namespaces/default/configmaps",
                      leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const std::string applied = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}})";
    const std::string lease = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}})";
    const auto apply = [&] { return as(jane(), "PATCH", config_maps + "/a?fieldManager=m", applied, "application/apply-patch+yaml"); };
    const auto replace = [&] { return as(jane(), "PUT", leases + "/a", lease); };

    const StreamKeeper refused = apply();
    EXPECT_EQ(refused.code, 403);
    EXPECT_TRUE(refused.body.contains(R"(cannot create resource \"configmaps\")")) << refused.body;
    EXPECT_EQ(replace().code, 403);
    EXPECT_EQ(get(config_maps + "/a").code, 404);
    EXPECT_EQ(get(leases + "/a").code, 404);

    grant(R"({"apiGroups":["","coordination.k8s.io"],"resources":["configmaps","leases"],"verbs":["create"]})", "creates");
    EXPECT_EQ(apply().code, 201);
    EXPECT_EQ(replace().code, 201);
    EXPECT_EQ(apply().code, 200);
}

TEST_F(Access, OfANodeStaysNarrowWhenItsMirrorPodIsEdited) {
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    ASSERT_EQ(post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"target"}})").code, 201);
    const User node{.name = "system:node:n1", .groups = {"system:nodes", std::string(GroupAuthenticated)}};
    const std::string uid(get("/api/v1/nodes/n1").at({"metadata", "uid"}));
    const auto mirror = [&](const std::string& annotation, const std::string& container) {
        return R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":")" + annotation +
               R"("},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","controller":true,"uid":")" + uid +
               R"("}]},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i:1")" + container + "}]}}";
    };
    const std::string pods = "/api/v1/namespaces/default/pods", secret = "/api/v1/namespaces/default/secrets/target";
    const std::string variable = R"(,"env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"target","key":"k"}}}])";
    EXPECT_EQ(as(node, "POST", pods, mirror("x", variable)).code, 403);
    EXPECT_EQ(post(pods, mirror("x", variable)).code, 403) << "by nobody";
    for (const char* value : {"x", ""}) {
        ASSERT_EQ(as(node, "POST", pods, mirror(value, "")).code, 201);
        loop.run_ready();
        const StreamKeeper stripped =
            as(node, "PATCH", pods + "/m/status", R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":null}}})",
               "application/merge-patch+json");
        EXPECT_EQ(stripped.code, 422) << stripped.body;
        loop.run_ready();
        EXPECT_EQ(as(node, "GET", secret).code, 403);
        remove(pods + "/m", R"({"gracePeriodSeconds":0})");
    }
}

TEST_F(Access, TokensAreReviewedForTheAudiencesAskedFor) {
    const std::string account = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const auto issue = [&](const std::string& audiences) {
        return std::string(
            post(account, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":)" + audiences + "}}")
                .at({"status", "token"}));
    };
    const auto review = [&](const std::string& token, const std::string& audiences) {
        return post("/apis/authentication.k8s.io/v1/tokenreviews",
                    R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":")" + token + R"(","audiences":)" +
                        audiences + "}}");
    };
    const auto confirmed = [&](const std::string& token, const std::string& audiences) {
        const Answer answer = review(token, audiences);
        const schema::Value* list = answer.body.at_path({"status", "audiences"});
        return list ? schema::to_json(*list) : "refused";
    };
    const std::string server = R"("https://kubernetes.default.svc.cluster.local")";
    const std::string ours = issue("[]"), vaults = issue(R"(["vault","store"])");
    EXPECT_EQ(confirmed(ours, "[]"), "[" + server + "]");
    EXPECT_EQ(confirmed(ours, R"(["vault"])"), "refused");
    EXPECT_EQ(confirmed(ours, R"(["vault",)" + server + "]"), "[" + server + "]");
    EXPECT_EQ(confirmed(vaults, R"(["vault"])"), R"(["vault"])");
    EXPECT_EQ(confirmed(vaults, "[]"), "refused");
    EXPECT_EQ(confirmed("abcdef.0123456789abcdef", "[]"), "refused");
}

TEST_F(Access, ATokenOfBlanksIsReviewedAndRefused) {
    for (const char* token : {" ", "    ", " a", "a b", "a\\n", "\\t"}) {
        SCOPED_TRACE(token);
        const Answer answer =
            post("/apis/authentication.k8s.io/v1/tokenreviews",
                 R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":")" + std::string(token) + R"("}})");
        EXPECT_EQ(answer.code, 201) << answer.text;
        EXPECT_EQ(answer.at({"status", "error"}), "invalid bearer token") << answer.text;
        EXPECT_FALSE(answer.text.contains(R"("authenticated":true)")) << answer.text;
    }
}

TEST_F(Access, RequestsForWhatIsNotServedMakeNoSeries) {
    const auto lines = [&] {
        const std::string text = get("/metrics").text;
        return std::ranges::count(text, '\n');
    };
    const auto ask = [&](const std::string& what) {
        as({.name = std::string(AnonymousUser)}, "GET", "/apis/" + what + "/v1/x");
        as({.name = std::string(AnonymousUser)}, "GET", "/apis/apps/" + what + "/deployments/x/scale");
        as({.name = std::string(AnonymousUser)}, "GET", "/api/v1/pods/x/" + what);
        as({.name = std::string(AnonymousUser)}, what, "/api/v1/pods");
        as(loopback_user(), what, "/" + what);
    };
    ask("a");
    lines();
    const auto before = lines();
    for (int i = 0; i < 50; ++i) ask("forged%22%0A" + std::to_string(i));
    EXPECT_EQ(lines(), before);
    EXPECT_FALSE(get("/metrics").text.contains("forged"));
    EXPECT_TRUE(get("/metrics").text.contains(R"(apiserver_request_total{verb="other",)"));
}

TEST_F(Access, EvictionByAnotherNodeLeavesTheBudgetAlone) {
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    ASSERT_EQ(post("/api/v1/namespaces/default/pods",
                   R"({"metadata":{"name":"p","labels":{"app":"x"}},"spec":{"nodeName":"n2","containers":[{"name":"c","image":"i:1"}]}})")
                  .code,
              201);
    merge("/api/v1/namespaces/default/pods/p/status", R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
    const std::string budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
    post("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
         R"({"metadata":{"name":"b"},"spec":{"minAvailable":0,"selector":{"matchLabels":{"app":"x"}}}})");
    merge(budget + "/status",
          R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":0,"expectedPods":1}})");
    loop.run_ready();
    const User node{.name = "system:node:n1", .groups = {"system:nodes", std::string(GroupAuthenticated)}};
    EXPECT_EQ(as(node, "POST", "/api/v1/namespaces/default/pods/p/eviction",
                 R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})")
                  .code,
              403);
    const Answer left = get(budget);
    EXPECT_EQ(left.body.at_path({"status", "disruptionsAllowed"})->int_or(0), 1) << left.text;
    EXPECT_EQ(
        post("/api/v1/namespaces/default/pods/p/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})").code,
        201);
    EXPECT_EQ(get(budget).body.at_path({"status", "disruptionsAllowed"})->int_or(-1), 0);
}

TEST_F(Access, ABodyIsReadOnceItsSenderMayWrite) {
    const auto token = post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}").body;
    const auto ask = [&](const std::string& authorization) {
        StreamKeeper keeper;
        net::HttpRequest request{.method = "POST", .path = ConfigMaps};
        if (!authorization.empty()) request.headers.add("authorization", authorization);
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return std::pair(keeper.code, keeper.bodies_read);
    };
    const std::string bearer = "Bearer " + std::string(token.string_at({"status", "token"}));
    EXPECT_EQ(ask(""), std::pair(403, 0));
    EXPECT_EQ(ask("Bearer nonsense"), std::pair(401, 0));
    EXPECT_EQ(ask(bearer), std::pair(403, 0));
    grant(R"({"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]})");
    ASSERT_EQ(merge("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/granted",
                    R"({"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]})")
                  .code,
              200);
    loop.run_ready();
    EXPECT_EQ(ask(bearer), std::pair(201, 1));
}

/// Objects that are hard on whoever reads them.
class AccessObjects : public Access {
protected:
    static constexpr const char* ConfigMaps = "/api/v1/namespaces/default/configmaps";

    static std::string nested(int levels) {
        std::string text;
        for (int i = 0; i < levels; ++i) text += R"({"f:a":)";
        return text + "{}" + std::string(static_cast<std::size_t>(levels), '}');
    }
    /// A JSON patch that writes the levels into the first of the object's managedFields.
    Answer patch_fields(const std::string& path, int levels) {
        return call("PATCH", path, R"([{"op":"add","path":"/metadata/managedFields/0/fieldsV1/f:x","value":)" + nested(levels) + "}]",
                    "application/json-patch+json");
    }
    void put_raw(const schema::Kind& kind, const std::string& name, std::string value) {
        store::Transaction transaction;
        const std::string namespace_ = kind.namespaced() ? "default" : "";
        transaction.operations.push_back(store::Put{.key = object_key(kind, namespace_, name), .value = std::move(value)});
        ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));
    }
};

TEST_F(AccessObjects, NestedTooDeeplyAreNotStored) {
    const std::string one = std::string(ConfigMaps) + "/a";
    ASSERT_EQ(call("POST", std::string(ConfigMaps) + "?fieldManager=m", config_map("a")).code, 201);
    EXPECT_EQ(patch_fields(one, 490).code, 400);
    EXPECT_EQ(patch_fields(one, 200).code, 200);
    EXPECT_EQ(merge(one, R"({"data":{"k":"w"}})").code, 200) << "still readable and writable";
    EXPECT_EQ(remove(one).code, 200);
    const auto create = [&](int levels) {
        return post("/apis/apps/v1/namespaces/default/controllerrevisions",
                    R"({"metadata":{"name":"n)" + std::to_string(levels) + R"("},"revision":1,"data":)" + nested(levels) + "}");
    };
    EXPECT_EQ(create(254).code, 201);
    const Answer refused = create(255);
    EXPECT_EQ(refused.code, 400);
    EXPECT_EQ(refused.at({"message"}), "json: exceeded max depth");
}

TEST_F(AccessObjects, LargerThanTheStoreTakesAreRefused) {
    const Answer refused = post(ConfigMaps, R"({"metadata":{"name":"big","annotations":{}},"data":{"k":")" + std::string(900'000, 'x') +
                                                R"("},"binaryData":{"b":")" + std::string(800'000, 'A') + R"("}})");
    EXPECT_TRUE(refused.code == 413 || refused.code == 422) << refused.code;
    const Answer too_large = post("/apis/apps/v1/namespaces/default/controllerrevisions",
                                  R"({"metadata":{"name":"big"},"revision":1,"data":{"x":")" + std::string(1'600'000, 'x') + R"("}})");
    EXPECT_EQ(too_large.code, 413) << too_large.text.substr(0, 300);
    EXPECT_EQ(too_large.at({"reason"}), "RequestEntityTooLarge");
    EXPECT_EQ(post("/apis/apps/v1/namespaces/default/controllerrevisions",
                   R"({"metadata":{"name":"fits"},"revision":1,"data":{"x":")" + std::string(1'400'000, 'x') + R"("}})")
                  .code,
              201);
}

TEST_F(AccessObjects, ThatCannotBeReadCanBeDeleted) {
    const schema::Kind& kind = *api->registry().find_kind("v1", "ConfigMap");
    put_raw(kind, "deep", R"({"metadata":{"name":"deep","namespace":"default"},"data":)" + nested(2000) + "}");
    put_raw(kind, "torn", R"({"metadata":{"name":"torn",)");
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/deep", R"({"preconditions":{"uid":"x"}})").code, 500) << "nobody can say whose uid it is";
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/deep").code, 200);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/deep").code, 404);
    EXPECT_EQ(remove(ConfigMaps).code, 200);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/torn").code, 404);
}

TEST_F(AccessObjects, ThatCannotBeReadDoNotFreezeRights) {
    const schema::Kind& roles = *api->registry().find_kind("rbac.authorization.k8s.io/v1", "ClusterRole");
    put_raw(roles, "bad", R"({"metadata":{"name":"bad"},"rules":"none"})");
    loop.run_ready();
    grant(R"({"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]})");
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 200) << "what came after the bad object counts";
    restart();
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 200);
}

TEST_F(Access, ABadCertificateIsNotNone) {
    const auto ask = [&](net::Peer peer, net::Headers headers) {
        StreamKeeper keeper;
        net::HttpRequest request{.method = "GET", .path = "/readyz", .headers = std::move(headers), .peer = std::move(peer)};
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper.code;
    };
    const net::Peer bad{.certificate_error = "certificate has expired"};
    EXPECT_EQ(ask({}, {}), 200);
    EXPECT_EQ(ask(bad, {}), 401);
    const Answer token = post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}");
    EXPECT_EQ(ask(bad, {{"authorization", "Bearer " + std::string(token.body.string_at({"status", "token"}))}}), 200);
}

TEST_F(Access, AConnectionDoesNotOutliveTheAuthorityOfItsCertificate) {
    const auto ask = [&] {
        StreamKeeper keeper;
        net::Peer peer;
        peer.certificate.emplace().common_name = "ann";
        peer.certificate->authority = "old";
        peer.certificate->not_after = loop.wall_now() + std::chrono::hours(1);
        net::HttpRequest request{.method = "GET", .path = "/version", .peer = std::move(peer)};
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper.code;
    };
    api->client_certificates().trust({"new", "old"});
    EXPECT_EQ(ask(), 200);
    EXPECT_EQ(api->client_certificates().sightings().at("ann").authority, "old");
    api->client_certificates().trust({"new"});
    EXPECT_EQ(ask(), 401);
}

/// With an audit log, short limits and without priority and fairness.
class AccessLimits : public Access {
protected:
    KeptEvents kept;
    std::vector<std::string>& audit = kept.events;
    Auditor auditor{KeptEvents::everything(), {&kept}};
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.audit = &auditor;
        chosen.limits.reading = 2;
        chosen.limits.waiting_reads = 0;
        chosen.limits.request_time = std::chrono::seconds(2);
        chosen.priority_and_fairness = false;
        return chosen;
    }
};

TEST_F(AccessLimits, TheAuditLogNamesWhoActedAndWhomTheyActedAs) {
    grant(R"({"apiGroups":[""],"resources":["users"],"verbs":["impersonate"],"resourceNames":["joe"]})");
    const auto ask = [&](const std::string& as_user) {
        StreamKeeper keeper;
        net::HttpRequest request{.method = "GET", .path = "/api/v1/pods"};
        request.headers.add("impersonate-user", as_user);
        audit.clear();
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(jane(), std::move(request), keeper)));
        EXPECT_EQ(audit.size(), 1u);
        return *schema::parse_json(audit.front());
    };
    const schema::Value acted = ask("joe");
    EXPECT_EQ(acted.string_at({"user", "username"}), "jane");
    EXPECT_EQ(acted.string_at({"impersonatedUser", "username"}), "joe");
    const schema::Value refused = ask("root");
    EXPECT_EQ(refused.string_at({"user", "username"}), "jane") << "who tried is not lost";
    EXPECT_EQ(refused.find("impersonatedUser"), nullptr);
}

TEST_F(AccessLimits, NodesKeepTheirPlacesWhenOthersTakeAllOfTheirs) {
    grant(R"({"apiGroups":[""],"resources":["pods"],"verbs":["list"]})");
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    loop.run_ready();
    const User node{.name = "system:node:n1", .groups = {"system:nodes", std::string(GroupAuthenticated)}};
    std::deque<StreamKeeper> keepers;
    std::vector<Task<>> tasks;
    const auto begin = [&](const User& user, const std::string& path, const std::string& query) {
        net::HttpRequest request{.method = "GET", .path = path, .query = query};
        tasks.push_back(api->server().handle_as(user, std::move(request), keepers.emplace_back()));
    };
    // Lists that wait for a revision that never comes hold their places for seconds.
    for (int i = 0; i < 3; ++i) begin(jane(), "/api/v1/pods", "resourceVersion=999999");
    begin(node, "/api/v1/nodes/n1", "");
    EXPECT_TRUE(sim::run(loop, when_all(std::move(tasks))));
    EXPECT_EQ(keepers[2].code, 429);
    EXPECT_EQ(keepers[3].code, 200);
}

TEST_F(AccessLimits, ARequestThatTakesTooLongIsAnswered) {
    const Answer late = get("/api/v1/pods?resourceVersion=999999");  // waits for it, for three seconds
    EXPECT_EQ(late.code, 504);
    EXPECT_EQ(late.at({"message"}), "Timeout: request did not complete within the allotted timeout");
    EXPECT_EQ(get("/api/v1/pods").code, 200);
}

/// A user with a token, who may create ConfigMaps, and little memory for bodies.
class AccessBodies : public Access {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.limits.held_bodies = 4000;
        return chosen;
    }
    int create(std::size_t size) {
        StreamKeeper keeper;
        keeper.request_body = config_map("c" + std::to_string(++made), std::string(size, 'x'));
        net::HttpRequest request{.method = "POST", .path = "/api/v1/namespaces/default/configmaps"};
        request.headers.add("authorization", "Bearer " + token);
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper.code;
    }
    std::string token;
    int made = 0;
};

TEST_F(AccessBodies, AreRefusedWhereTheyAreTooManyBytes) {
    token = post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}").body.string_at({"status", "token"});
    grant(R"({"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]})");
    ASSERT_EQ(merge("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/granted",
                    R"({"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"default"}]})")
                  .code,
              200);
    loop.run_ready();
    EXPECT_EQ(create(60), 201);
    EXPECT_EQ(create(1000), 429) << "a quarter of all is one user's";
    for (int i = 0; i < 20; ++i) EXPECT_EQ(create(60), 201) << "what has been answered is not counted any more";
}

TEST(HeldBodies, OneUserDoesNotTakeAll) {
    HeldBodies bodies(1000);
    std::vector<std::unique_ptr<HeldBodies::Share>> held;
    const auto hold = [&](const std::string& user, std::size_t bytes) {
        auto share = bodies.hold(user, bytes);
        if (!share) return share.error().reason == Reason::TooManyRequests ? 429 : 0;
        held.push_back(std::move(*share));
        return 200;
    };
    EXPECT_EQ(hold("a", 200), 200);
    EXPECT_EQ(hold("a", 51), 429);
    EXPECT_EQ(hold("a", 0), 200);
    EXPECT_EQ(hold("b", 250), 200);
    EXPECT_EQ(hold("c", 250), 200);
    EXPECT_EQ(hold("d", 250), 200);
    EXPECT_EQ(hold("e", 51), 429) << "all together";
    EXPECT_EQ(hold("e", 50), 200);
    held.clear();
    EXPECT_EQ(hold("a", 250), 200);
}

TEST_F(Access, TheSupervisorsFormerNameLosesItsRights) {
    const std::string bindings[] = {"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/porthole:supervisor",
                                    "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/porthole:supervisor"};
    const auto subjects = [&](const std::string& path) { return schema::to_json(*get(path).body.find("subjects")); };
    const auto name = [](const std::string& user) {
        return R"({"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" + user + R"("})";
    };
    EXPECT_TRUE(subjects(bindings[0]).contains(R"("system:porthole-supervisor")")) << subjects(bindings[0]);
    for (const std::string& path : bindings)
        ASSERT_EQ(merge(path, R"({"subjects":[)" + name("porthole-supervisor") + "," + name("ann") + "]}").code, 200);
    restart();
    for (const std::string& path : bindings) {
        EXPECT_FALSE(subjects(path).contains(R"("porthole-supervisor")")) << "an issuer of tokens can give it";
        EXPECT_TRUE(subjects(path).contains(R"("system:porthole-supervisor")"));
        EXPECT_TRUE(subjects(path).contains(R"("ann")")) << "what the administrator has added stays";
    }
}

TEST_F(AccessObjects, ManyReservationsThatNoServiceHasAreRemoved) {
    for (int slice = 0; slice < 5; ++slice) {
        store::Transaction transaction;
        for (int i = 0; i < 1000; ++i)
            transaction.operations.push_back(
                store::Put{.key = "/allocation/node-ports/" + std::to_string(30000 + slice * 1000 + i), .value = "a/b"});
        ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));
    }
    restart();
    EXPECT_EQ(api->store().count("/allocation/node-ports/"), 0u);
}

}  // namespace
}  // namespace porthole::apiserver
