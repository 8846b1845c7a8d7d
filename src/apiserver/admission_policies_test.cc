// Admission policies as clients meet them: the whole API server.
#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr const char* Group = "/apis/admissionregistration.k8s.io/v1/";
constexpr const char* CreatesMaps =
    R"({"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]})";
constexpr const char* AnyWrite = R"({"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]})";

class AdmissionPolicies : public ApiServerFixture {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = ApiServerFixture::options();
        chosen.audit = &auditor;
        return chosen;
    }
    static std::string path(const char* resource) { return std::string(Group) + resource; }
    void make(const char* resource, const std::string& body) {
        const Answer made = post(path(resource), body);
        ASSERT_EQ(made.code, 201) << made.text;
        loop.run_ready();  // policies are followed
    }
    void drop(const char* resource, const std::string& name) {
        ASSERT_EQ(remove(path(resource) + "/" + name).code, 200);
        loop.run_ready();
    }
    /// A policy "p" whose spec has these members.
    void policy(const std::string& members, const std::string& constraints = CreatesMaps, const std::string& name = "p") {
        make("validatingadmissionpolicies",
             R"({"metadata":{"name":")" + name + R"("},"spec":{"matchConstraints":)" + constraints + "," + members + "}}");
    }
    void bind(const std::string& actions = R"(["Deny"])", const std::string& more = "", const std::string& name = "b",
              const std::string& policy = "p") {
        make("validatingadmissionpolicybindings", R"({"metadata":{"name":")" + name + R"("},"spec":{"policyName":")" + policy +
                                                      R"(","validationActions":)" + actions + more + "}}");
    }
    static std::string validation(const std::string& expression, const std::string& more = "") {
        return R"("validations":[{"expression":)" + schema::to_json(expression) + more + "}]";
    }
    void drop_all() {
        drop("validatingadmissionpolicies", "p");
        drop("validatingadmissionpolicybindings", "b");
    }
    std::string message_of(const Answer& answer) { return std::string(answer.at({"message"})); }
    std::string metrics() { return get("/metrics").text; }
    /// Why a config map "a" cannot be created; "" when it can.
    std::string refusal(const std::string& map = config_map("a")) {
        const Answer answer = post(std::string(ConfigMaps) + "?dryRun=All", map);
        return answer.code == 201 ? "" : message_of(answer);
    }

    KeptEvents events;
    Auditor auditor{KeptEvents::everything(), {&events}};
};

const std::string Denied = "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";

// Upstream's conformance: "should validate against a Deployment".
TEST_F(AdmissionPolicies, WhatIsNotValidIsRefusedInThePolicysWords) {
    policy(validation("object.data.k != 'bad'"));
    EXPECT_EQ(refusal(config_map("a", "bad")), "") << "nothing is bound";
    bind();
    EXPECT_EQ(refusal(), "");
    const Answer refused = post(ConfigMaps, config_map("a", "bad"));
    EXPECT_EQ(refused.code, 422);
    EXPECT_EQ(refused.at({"reason"}), "Invalid");
    EXPECT_EQ(refused.at({"message"}), Denied + "failed expression: object.data.k != 'bad'");
    EXPECT_EQ(refused.body.at_path({"details", "causes"})->as_array()[0].string_at({"message"}),
              "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.data.k != 'bad'");
    EXPECT_NE(metrics().find(R"(apiserver_validating_admission_policy_check_total{enforcement_action="deny",error_type="invalid_error",)"
                             R"(policy="p",policy_binding="b"} 1)"),
              std::string::npos);
    drop("validatingadmissionpolicybindings", "b");
    EXPECT_EQ(refusal(config_map("a", "bad")), "");
}

TEST_F(AdmissionPolicies, AMessageIsTheExpressionsElseTheTextElseTheCondition) {
    struct {
        const char *name, *more, *message;
    } const rows[] = {
        {"text", R"(,"message":" no bad maps ")", "no bad maps"},
        {"expression", R"(,"message":"text","messageExpression":"'not ' + object.data.k")", "not bad"},
        {"expression that fails", R"(,"message":"text","messageExpression":"object.nope")", "text"},
        {"expression with a line break", R"(,"messageExpression":"'a\\nb'")", "failed expression: object.data.k != 'bad'"},
        {"empty", R"(,"message":"text","messageExpression":"' '")", "text"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        // An expression of type dyn would not compile as a message.
        std::string more = row.more;
        if (const auto at = more.find("object.nope"); at != std::string::npos) more.replace(at, 11, "string(object.nope)");
        policy(validation("object.data.k != 'bad'", more));
        bind();
        EXPECT_EQ(refusal(config_map("a", "bad")), Denied + row.message);
        drop_all();
    }
}

TEST_F(AdmissionPolicies, TheReasonGivesTheCode) {
    for (const auto& [reason, code] : std::map<std::string, int>{{"Forbidden", 403}, {"Invalid", 422}, {"RequestEntityTooLarge", 413}}) {
        SCOPED_TRACE(reason);
        policy(validation("false", R"(,"reason":")" + reason + '"'));
        bind();
        const Answer refused = post(ConfigMaps, config_map("a"));
        EXPECT_EQ(refused.code, code);
        EXPECT_EQ(refused.at({"reason"}), reason);
        drop_all();
    }
}

TEST_F(AdmissionPolicies, ABindingMayWarnOrAuditInsteadOfDenying) {
    policy(validation("object.data.k != 'bad'", R"(,"message":"bad map")"));
    bind(R"(["Warn","Audit"])");
    EXPECT_EQ(warnings_of("POST", ConfigMaps, config_map("a", "bad")),
              "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': bad map\"\n");
    EXPECT_NE(events.events.back().find(
                  R"("validation.policy.admission.k8s.io/validation_failure":"[{\"message\":\"bad map\",)"
                  R"(\"policy\":\"p\",\"binding\":\"b\",\"expressionIndex\":0,\"validationActions\":[\"Warn\",\"Audit\"]}]")"),
              std::string::npos)
        << events.events.back();
    EXPECT_EQ(warnings_of("POST", ConfigMaps, config_map("c")), "");
}

// Upstream's conformance: "should support ValidatingAdmissionPolicy with variables" and the like.
TEST_F(AdmissionPolicies, VariablesAndTheNamespaceAreKnown) {
    policy(R"("variables":[{"name":"value","expression":"object.data.k"},{"name":"long","expression":"variables.value.size() > 3"}],)" +
           validation("!variables.long && namespaceObject.metadata.name == 'default' && request.namespace == 'default'",
                      R"(,"messageExpression":"variables.value + ' is too long'")"));
    bind();
    EXPECT_EQ(refusal(config_map("a", "abc")), "");
    EXPECT_EQ(refusal(config_map("a", "abcd")), Denied + "abcd is too long");
}

TEST_F(AdmissionPolicies, AuditAnnotationsAreWritten) {
    policy(R"("auditAnnotations":[{"key":"value","valueExpression":"'k is ' + object.data.k"},{"key":"none","valueExpression":"null"}])");
    bind();
    bind(R"(["Deny"])", "", "c");
    ASSERT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    EXPECT_NE(events.events.back().find(R"("p/value":"k is v")"), std::string::npos) << events.events.back();
    EXPECT_EQ(events.events.back().find("p/none"), std::string::npos);
    const Answer refused = post(ConfigMaps, R"({"metadata":{"name":"b"}})");
    EXPECT_NE(message_of(refused).find("denied request: expression ''k is ' + object.data.k' resulted in error: no such key: data"),
              std::string::npos)
        << refused.text;
}

// What the authorizer says decides, and is told to nobody, also not through a variable.
TEST_F(AdmissionPolicies, MessagesAndAuditAnnotationsDoNotAskTheAuthorizer) {
    const std::string may = R"~("variables":[{"name":"may","expression":"authorizer.path('/a').check('get').allowed()"}],)~";
    policy(may + validation("!variables.may", R"~(,"message":"text","messageExpression":"'may: ' + string(variables.may)")~"));
    bind();
    EXPECT_EQ(refusal(), Denied + "text");
    drop_all();
    policy(may + R"~("auditAnnotations":[{"key":"may","valueExpression":"string(variables.may)"}])~");
    bind();
    EXPECT_NE(refusal().find("composited variable \"may\" fails to evaluate"), std::string::npos) << refusal();
}

TEST_F(AdmissionPolicies, AnErrorCountsByTheFailurePolicy) {
    policy(validation("object.nope == 1"));
    bind();
    EXPECT_EQ(refusal(), Denied + "expression 'object.nope == 1' resulted in error: no such key: nope");
    drop_all();
    policy(R"("failurePolicy":"Ignore",)" + validation("object.nope == 1"));
    bind();
    EXPECT_EQ(refusal(), "");
}

TEST_F(AdmissionPolicies, SelectsByRulesNamesAndSelectors) {
    struct {
        const char *name, *constraints, *binding;
        bool applies;
    } const rows[] = {
        {"resource", CreatesMaps, "", true},
        {"other operation",
         R"({"resourceRules":[{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]})", "", false},
        {"name",
         R"({"resourceRules":[{"resourceNames":["a"],"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]})",
         "", true},
        {"other name",
         R"({"resourceRules":[{"resourceNames":["z"],"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]})",
         "", false},
        {"excluded",
         R"({"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}],)"
         R"("excludeResourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]})",
         "", false},
        {"binding's rules", CreatesMaps,
         R"(,"matchResources":{"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"]}]})",
         false},
        {"binding's namespaces", CreatesMaps,
         R"(,"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}}})", true},
        {"binding's other namespaces", CreatesMaps, R"(,"matchResources":{"namespaceSelector":{"matchLabels":{"env":"test"}}})", false},
        {"binding's objects", CreatesMaps, R"(,"matchResources":{"objectSelector":{"matchLabels":{"app":"v"}}})", true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        policy(validation("false", R"(,"message":"no")"), row.constraints);
        bind(R"(["Deny"])", row.binding);
        EXPECT_EQ(refusal(), row.applies ? Denied + "no" : "");
        drop_all();
    }
}

TEST_F(AdmissionPolicies, MatchConditionsExcludeRequests) {
    policy(R"("matchConditions":[{"name":"not-a","expression":"request.name != 'a'"}],)" + validation("false"));
    bind();
    EXPECT_EQ(refusal(), "");
    EXPECT_NE(refusal(config_map("b")), "");
    EXPECT_NE(metrics().find(
                  R"(apiserver_admission_match_condition_exclusions_total{kind="policy",name="p",operation="CREATE",type="validate"} 1)"),
              std::string::npos);
}

TEST_F(AdmissionPolicies, ParametersComeFromConfigMaps) {
    ASSERT_EQ(post(ConfigMaps, R"({"metadata":{"name":"limit","labels":{"kind":"limit"}},"data":{"most":"3"}})").code, 201);
    policy(
        R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" +
        validation("object.data.k.size() <= int(params.data.most)", R"~(,"messageExpression":"'at most ' + string(params.data.most)")~"));
    struct {
        const char *name, *reference, *answer;
    } const rows[] = {
        {"by name", R"({"name":"limit","parameterNotFoundAction":"Deny"})", "at most 3"},
        {"by name in a namespace", R"({"name":"limit","namespace":"default","parameterNotFoundAction":"Deny"})", "at most 3"},
        {"by labels", R"({"selector":{"matchLabels":{"kind":"limit"}},"parameterNotFoundAction":"Deny"})", "at most 3"},
        {"not there", R"({"name":"nope","parameterNotFoundAction":"Deny"})",
         "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
        {"not there, allowed", R"({"name":"nope","parameterNotFoundAction":"Allow"})", ""},
        {"none with the labels", R"({"selector":{"matchLabels":{"kind":"x"}},"parameterNotFoundAction":"Allow"})", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        bind(R"(["Deny"])", std::string(R"(,"paramRef":)") + row.reference);
        EXPECT_EQ(refusal(config_map("a", "long")), *row.answer ? Denied + row.answer : "");
        drop("validatingadmissionpolicybindings", "b");
    }
    bind();
    EXPECT_NE(refusal(config_map("a", "long")).find("no such key: data"), std::string::npos) << "params is null without paramRef";
}

TEST_F(AdmissionPolicies, ABindingMaySelectAHundredParameters) {
    policy(R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" + validation("params.data.k == 'ok'"));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(post(ConfigMaps, config_map("param" + std::to_string(i), "ok")).code, 201);
    bind(R"(["Deny"])", R"(,"paramRef":{"selector":{"matchLabels":{"app":"ok"}},"parameterNotFoundAction":"Deny"})");
    EXPECT_EQ(refusal(), "");
    ASSERT_EQ(post(ConfigMaps, config_map("one-more", "ok")).code, 201);
    EXPECT_EQ(refusal(), Denied + "failed to configure binding: paramRef.selector selects more than 100 params");
}

TEST_F(AdmissionPolicies, ParametersComeFromCustomResources) {
    policy(R"("paramKind":{"apiVersion":"rules.example.com/v1","kind":"Limit"},)" + validation("object.data.k.size() <= params.spec.most"));
    bind(R"(["Deny"])", R"(,"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"})");
    EXPECT_EQ(refusal(),
              "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find "
              "resource referenced by paramKind: 'rules.example.com/v1, Kind=Limit'");
    ASSERT_EQ(post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                   R"({"metadata":{"name":"limits.rules.example.com"},"spec":{"group":"rules.example.com","scope":"Cluster",
                   "names":{"plural":"limits","singular":"limit","kind":"Limit","listKind":"LimitList"},
                   "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
                   "properties":{"spec":{"type":"object","properties":{"most":{"type":"integer"}}}}}}}]}})")
                  .code,
              201);
    loop.run_ready();
    EXPECT_NE(refusal().find("no params found"), std::string::npos) << refusal();
    ASSERT_EQ(post("/apis/rules.example.com/v1/limits",
                   R"({"apiVersion":"rules.example.com/v1","kind":"Limit","metadata":{"name":"limit"},"spec":{"most":3}})")
                  .code,
              201);
    EXPECT_EQ(refusal(config_map("a", "abc")), "");
    EXPECT_EQ(refusal(config_map("a", "abcd")), Denied + "failed expression: object.data.k.size() <= params.spec.most");
}

TEST_F(AdmissionPolicies, WhoNamesParametersMayReadThem) {
    ASSERT_EQ(
        post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
             R"({"metadata":{"name":"policies"},"rules":[{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]}]})")
            .code,
        201);
    ASSERT_EQ(
        post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             R"({"metadata":{"name":"policies"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"policies"},
                   "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})")
            .code,
        201);
    loop.run_ready();
    const auto jane = [&](const char* resource, std::string body) {
        HeaderKeeper keeper;
        net::HttpRequest request{.method = "POST", .path = path(resource), .body = std::move(body)};
        EXPECT_TRUE(
            sim::run(loop, api->server().handle_as(User{.name = "jane", .groups = {"system:authenticated"}}, std::move(request), keeper)));
        return keeper.body;
    };
    const auto policy_of = [](const std::string& more) {
        return R"({"metadata":{"name":"p"},"spec":{"matchConstraints":)" + std::string(CreatesMaps) + more +
               R"(,"validations":[{"expression":"true"}]}})";
    };
    EXPECT_NE(
        jane("validatingadmissionpolicies", policy_of(R"(,"paramKind":{"apiVersion":"v1","kind":"Secret"})"))
            .find(R"(spec.paramKind: Forbidden: user &{jane  [system:authenticated] map[]} must have \"get\" permission on all objects of )"
                  R"(the referenced paramKind (kind=Secret, apiVersion=v1))"),
        std::string::npos);
    policy(R"("paramKind":{"apiVersion":"v1","kind":"Secret"},)" + validation("true"));
    const std::string binding =
        R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"s","namespace":"default",)"
        R"("parameterNotFoundAction":"Deny"}}})";
    EXPECT_NE(
        jane("validatingadmissionpolicybindings", binding).find(R"(does not have \"get\" permission on the object referenced by paramRef)"),
        std::string::npos);
    ASSERT_EQ(
        post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
             R"({"metadata":{"name":"s"},"rules":[{"apiGroups":[""],"resources":["secrets"],"resourceNames":["s"],"verbs":["get"]}]})")
            .code,
        201);
    ASSERT_EQ(post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
                   R"({"metadata":{"name":"s"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"s"},
                   "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})")
                  .code,
              201);
    loop.run_ready();
    EXPECT_NE(jane("validatingadmissionpolicybindings", binding).find(R"("kind":"ValidatingAdmissionPolicyBinding")"), std::string::npos);
}

TEST_F(AdmissionPolicies, DoNotApplyToThemselves) {
    policy(validation("false"), AnyWrite);
    bind();
    EXPECT_NE(refusal(), "");
    drop("validatingadmissionpolicybindings", "b");
    drop("validatingadmissionpolicies", "p");
}

TEST_F(AdmissionPolicies, ProtectWebhookConfigurations) {
    policy(validation("false", R"(,"message":"no webhooks")"), AnyWrite);
    bind();
    for (const char* resource : {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}) {
        const Answer refused = post(path(resource), R"({"metadata":{"name":"w"},"webhooks":[]})");
        EXPECT_EQ(refused.code, 422) << refused.text;
        EXPECT_NE(message_of(refused).find("no webhooks"), std::string::npos) << refused.text;
    }
}

TEST_F(AdmissionPolicies, ANameIsStillToBeGeneratedWhenObjectsAreChanged) {
    policy(validation("request.name.startsWith('made-') && object.metadata.name == request.name", R"(,"message":"no name")"));
    bind();
    const Answer made = post(ConfigMaps, R"({"metadata":{"generateName":"made-"}})");
    ASSERT_EQ(made.code, 201) << made.text;
    const Answer refused = post(ConfigMaps, R"({"metadata":{"generateName":"other-"}})");
    EXPECT_EQ(message_of(refused).substr(0, 18), "configmaps \"other-") << "it has a name when it is validated";
    EXPECT_GT(refused.at({"details", "name"}).size(), 6u);
}

TEST_F(AdmissionPolicies, ARoleInANamespaceIsAboutItsNamespaceToo) {
    ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"own"}})").code, 201);
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/own/";
    ASSERT_EQ(
        post(rbac + "roles", R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["namespaces"],"verbs":["*"]}]})").code,
        201);
    ASSERT_EQ(post(rbac + "rolebindings",
                   R"({"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
                   "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})")
                  .code,
              201);
    policy(validation("authorizer.requestResource.check('delete').allowed()", R"(,"message":"you may not")"),
           R"({"resourceRules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["namespaces"]}]})");
    bind();
    HeaderKeeper keeper;
    net::HttpRequest request{.method = "DELETE", .path = "/api/v1/namespaces/own", .body = ""};
    EXPECT_TRUE(sim::run(loop, api->server().handle_as({.name = "jane"}, std::move(request), keeper)));
    EXPECT_EQ(keeper.code, 200) << keeper.body;
}

// As upstream: nothing says that a token of the account was seen.
TEST_F(AdmissionPolicies, AServiceAccountIsAskedAboutWithItsOwnGroupsAlone) {
    ASSERT_EQ(post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                   R"({"metadata":{"name":"reads-pods"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})")
                  .code,
              201);
    const auto bind_group = [&](const std::string& group) {
        return post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                    R"({"metadata":{"name":"g"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"reads-pods"},
                    "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":")" +
                        group + R"("}]})")
            .code;
    };
    policy(validation("authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()"));
    bind();
    ASSERT_EQ(bind_group("system:authenticated"), 201);
    loop.run_ready();
    EXPECT_NE(refusal(), "");
    ASSERT_EQ(remove("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/g").code, 200);
    ASSERT_EQ(bind_group("system:serviceaccounts:default"), 201);
    loop.run_ready();
    EXPECT_EQ(refusal(), "");
}

TEST_F(AdmissionPolicies, SeeDeletionsAndUpdates) {
    ASSERT_EQ(post(ConfigMaps, config_map("a", "kept")).code, 201);
    policy(validation("request.operation != 'DELETE' || oldObject.data.k != 'kept'"), AnyWrite);
    bind();
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a").code, 422);
    EXPECT_EQ(merge(std::string(ConfigMaps) + "/a", R"({"data":{"k":"free"}})").code, 200);
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/a").code, 200);
}

TEST_F(AdmissionPolicies, CostsAreBounded) {
    std::string list = "[0";
    for (int i = 1; i < 200; ++i) list += "," + std::to_string(i);
    const std::string loops = list + "].all(a, " + list + "].all(b, a + b >= 0))";
    policy(R"("failurePolicy":"Ignore",)" + validation(list + "].all(a, " + loops + ")"));
    bind();
    EXPECT_EQ(refusal(), "") << "ended by the limit of one expression, which is ignored";
    EXPECT_NE(metrics().find(R"(enforcement_action="allow",error_type="invalid_error",policy="p")"), std::string::npos);
    drop_all();
    std::string many = R"("validations":[)";
    for (int i = 0; i < 40; ++i) many += (i ? "," : "") + std::string(R"({"expression":)") + schema::to_json(loops) + "}";
    policy(many + "]");
    bind();
    EXPECT_EQ(refusal(), Denied + "validation failed due to running out of cost budget, no further validation rules will be run");
    EXPECT_NE(metrics().find(R"(enforcement_action="deny",error_type="out_of_budget",policy="p")"), std::string::npos);
}

// Upstream's conformance: "should type check validation expressions".
TEST_F(AdmissionPolicies, ExpressionsThatDoNotFitTheTypesAreToldInTheStatus) {
    policy(
        R"("variables":[{"name":"spec","expression":"object.spec"}],"validations":[{"expression":"object.spec.replicas > 1"},)"
        R"({"expression":"object.spec.replicas > '1'"},{"expression":"object.spec.maxRetries < 10","messageExpression":"'a' + object.nope"},)"
        R"({"expression":"object.metadata.creationTimestamp < timestamp('2024-01-01T00:00:00Z') && variables.spec.any == 1"}])",
        R"({"resourceRules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]})");
    const Answer found = get(path("validatingadmissionpolicies") + "/p");
    EXPECT_EQ(found.body.at_path({"status", "observedGeneration"})->as_int(), 1);
    const auto& warnings = found.body.at_path({"status", "typeChecking", "expressionWarnings"})->as_array();
    ASSERT_EQ(warnings.size(), 3u) << found.text;
    EXPECT_EQ(warnings[0].string_at({"fieldRef"}), "spec.validations[1].expression");
    EXPECT_EQ(warnings[0].string_at({"warning"}),
              "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n"
              " | object.spec.replicas > '1'\n | .....................^\n");
    EXPECT_NE(warnings[1].string_at({"warning"}).find("undefined field 'maxRetries'"), std::string::npos);
    EXPECT_EQ(warnings[2].string_at({"fieldRef"}), "spec.validations[2].messageExpression");
    ASSERT_EQ(merge(path("validatingadmissionpolicies") + "/p", R"({"spec":{"validations":[{"expression":"true"}]}})").code, 200);
    loop.run_ready();
    const Answer changed = get(path("validatingadmissionpolicies") + "/p");
    EXPECT_EQ(changed.body.at_path({"status", "observedGeneration"})->as_int(), 2);
    EXPECT_EQ(changed.body.at_path({"status", "typeChecking", "expressionWarnings"}), nullptr) << changed.text;
}

TEST_F(AdmissionPolicies, WhatTheStatusTellsHasAnEnd) {
    std::string list = "[object.a0";
    for (int i = 1; i < 1000; ++i) list += ",object.a" + std::to_string(i);
    std::string many = R"("validations":[)";
    for (int i = 0; i < 20; ++i) many += (i ? "," : "") + std::string(R"({"expression":")") + list + R"(] == []"})";
    policy(many + "]", R"({"resourceRules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],
                           "resources":["daemonsets","deployments","replicasets","statefulsets"]}]})");
    const Answer found = get(path("validatingadmissionpolicies") + "/p");
    ASSERT_NE(found.body.at_path({"status", "typeChecking"}), nullptr) << "it cannot be stored";
    std::size_t size = 0;
    for (const auto& warning : found.body.at_path({"status", "typeChecking", "expressionWarnings"})->as_array())
        size += warning.string_at({"warning"}).size();
    EXPECT_GT(size, 60'000u);
    EXPECT_LT(size, 300'000u);
}

TEST_F(AdmissionPolicies, AreCheckedAgainstTheTypesOfTenKinds) {
    policy(R"("validations":[{"expression":"object.absent == 1"}])",
           R"({"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
               "resources":["configmaps","endpoints","events","limitranges","namespaces","nodes","persistentvolumes","pods",
                            "replicationcontrollers","resourcequotas","secrets","serviceaccounts","services"]}]})");
    const Answer found = get(path("validatingadmissionpolicies") + "/p");
    const Value* warnings = found.body.at_path({"status", "typeChecking", "expressionWarnings"});
    ASSERT_NE(warnings, nullptr);
    const std::string text(warnings->as_array().at(0).string_at({"warning"}));
    std::size_t kinds = 0;
    for (std::size_t at = text.find("Kind="); at != text.npos; at = text.find("Kind=", at + 1)) ++kinds;
    EXPECT_EQ(kinds, 10u) << text;
}

/// The same with policies that change objects.
class MutatingPolicies : public AdmissionPolicies {
protected:
    static std::string apply(const std::string& expression) {
        return R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)" + schema::to_json(expression) + "}}";
    }
    static std::string patch(const std::string& expression) {
        return R"({"patchType":"JSONPatch","jsonPatch":{"expression":)" + schema::to_json(expression) + "}}";
    }
    void mutation(const std::string& mutations, const std::string& more = "", const std::string& name = "p",
                  const std::string& constraints = CreatesMaps, const std::string& reinvocation = "Never") {
        make("mutatingadmissionpolicies", R"({"metadata":{"name":")" + name + R"("},"spec":{"reinvocationPolicy":")" + reinvocation +
                                              R"(","matchConstraints":)" + constraints + R"(,"mutations":[)" + mutations + "]" + more +
                                              "}}");
        make("mutatingadmissionpolicybindings", R"({"metadata":{"name":")" + name + R"("},"spec":{"policyName":")" + name + R"("}})");
    }
    void drop_both(const std::string& name = "p") {
        drop("mutatingadmissionpolicies", name);
        drop("mutatingadmissionpolicybindings", name);
    }
};

// Upstream's conformance: "should support MutatingAdmissionPolicy API operations" and "should mutate a Deployment".
TEST_F(MutatingPolicies, AnApplyConfigurationIsMerged) {
    mutation(apply("Object{metadata: Object.metadata{labels: {'added': object.data.k}}, data: {'more': request.operation}}"));
    const Answer made = post(ConfigMaps, config_map("a"));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"metadata", "labels", "added"}), "v");
    EXPECT_EQ(made.at({"metadata", "labels", "app"}), "v");
    EXPECT_EQ(made.at({"data", "more"}), "CREATE");
    EXPECT_EQ(made.at({"data", "k"}), "v");
    EXPECT_NE(metrics().find(R"(apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="p",policy_binding="p"} 1)"),
              std::string::npos);
}

TEST_F(MutatingPolicies, AnApplyConfigurationMergesListsByTheirKeys) {
    mutation(apply("Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'mesh', image: 'mesh:1', restartPolicy: "
                   "'Always'}]}}"),
             "", "p", R"({"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]})");
    const Answer made = post(Pods, pod("p", R"(,"initContainers":[{"name":"own","image":"i:1"}])"));
    ASSERT_EQ(made.code, 201) << made.text;
    const auto& containers = made.body.at_path({"spec", "initContainers"})->as_array();
    ASSERT_EQ(containers.size(), 2u);
    EXPECT_EQ(containers[1].string_at({"name"}), "mesh");
    EXPECT_EQ(containers[1].string_at({"imagePullPolicy"}), "IfNotPresent") << "it gets its defaults";
}

TEST_F(MutatingPolicies, AJsonPatchIsApplied) {
    mutation(
        patch("[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, JSONPatch{op: 'add', path: '/metadata/labels/' + "
              "jsonpatch.escapeKey('example.com/x'), value: object.data.k}]"));
    EXPECT_EQ(post(ConfigMaps, config_map("a")).at({"metadata", "labels", "example.com/x"}), "v");
    const Answer other = post(ConfigMaps, config_map("b", "w"));
    EXPECT_EQ(other.code, 201) << "a test that fails leaves the object as it is";
    EXPECT_EQ(other.body.at_path({"metadata", "labels", "example.com/x"}), nullptr);
}

TEST_F(MutatingPolicies, WhatDoesNotFitCountsByTheFailurePolicy) {
    const std::string denied = "policy 'p' with binding 'p' denied request: ";
    struct {
        const char* name;
        std::string mutation, message;
    } const rows[] = {
        {"error", apply("Object{data: {'a': object.nope}}"),
         "expression 'Object{data: {'a': object.nope}}' resulted in error: no such key: nope"},
        {"name of a type", apply("Object{metadata: Object.spec{}}"),
         "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root "
         "Object "
         "type"},
        {"patch", patch("[JSONPatch{op: 'remove', path: '/data/nope'}]"), "JSONPath: "},
        {"null", patch("[false ? JSONPatch{op: 'test', path: '/kind'} : null]"), "type mismatch: unexpected type name"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        mutation(row.mutation);
        EXPECT_EQ(refusal().substr(0, denied.size() + row.message.size()), denied + row.message);
        const Answer refused = post(ConfigMaps, config_map("a"));
        EXPECT_EQ(refused.code, 403) << "as upstream, although:";
        EXPECT_EQ(refused.at({"reason"}), "Invalid");
        drop_both();
        mutation(row.mutation, R"(,"failurePolicy":"Ignore")");
        EXPECT_EQ(refusal(), "");
        drop_both();
    }
}

TEST_F(MutatingPolicies, AConditionThatFailsCountsByTheFailurePolicy) {
    const std::string condition = R"(,"matchConditions":[{"name":"c","expression":"object.nope == 1"}])";
    mutation(apply("Object{data: {'late': 'yes'}}"), condition);
    EXPECT_EQ(refusal(), "policy 'p' with binding 'p' denied request: expression 'object.nope == 1' resulted in error: no such key: nope");
    drop_both();
    mutation(apply("Object{data: {'late': 'yes'}}"), R"(,"failurePolicy":"Ignore")" + condition);
    EXPECT_EQ(post(ConfigMaps, config_map("a")).body.at_path({"data", "late"}), nullptr);
    EXPECT_NE(metrics().find(
                  R"(apiserver_admission_match_condition_exclusions_total{kind="policy",name="p",operation="CREATE",type="validate"} 1)"),
              std::string::npos);
}

TEST_F(MutatingPolicies, MayChangeWhatANameIsMadeOf) {
    mutation(apply("Object{metadata: Object.metadata{generateName: has(object.metadata.name) || has(request.name) ? 'bad-' : 'good-'}}"));
    const Answer made = post(ConfigMaps, R"({"metadata":{"generateName":"made-"}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"metadata", "name"}).substr(0, 5), "good-");
    EXPECT_EQ(made.at({"metadata", "name"}).size(), 10u);
}

TEST_F(MutatingPolicies, AtomicFieldsAreNotMerged) {
    mutation(apply("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['x']}]}}"), "", "p",
             R"({"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]})");
    EXPECT_EQ(message_of(post(Pods, pod("p"))),
              "policy 'p' with binding 'p' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, "
              "maps or structs: .spec.containers[0].args");
}

TEST_F(MutatingPolicies, RunByNamesAndAgainWhereTheyWantToSeeChanges) {
    // The first copies what the second adds.
    mutation(apply("Object{data: {'copy': has(object.data.late) ? object.data.late : 'none'}}"), "", "a", CreatesMaps, "IfNeeded");
    mutation(apply("Object{data: {'late': 'yes'}}"), "", "b");
    EXPECT_EQ(post(ConfigMaps, config_map("x")).at({"data", "copy"}), "yes");
    drop_both("a");
    mutation(apply("Object{data: {'copy': has(object.data.late) ? object.data.late : 'none'}}"), "", "a");
    EXPECT_EQ(post(ConfigMaps, config_map("y")).at({"data", "copy"}), "none");
}

TEST_F(MutatingPolicies, ConditionsParametersAndVariablesAreKnown) {
    ASSERT_EQ(post(ConfigMaps, R"({"metadata":{"name":"values"},"data":{"v":"p"}})").code, 201);
    make(
        "mutatingadmissionpolicies",
        R"({"metadata":{"name":"p"},"spec":{"reinvocationPolicy":"Never","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConstraints":)" +
            std::string(CreatesMaps) +
            R"(,"matchConditions":[{"name":"not-skipped","expression":"request.name != 'skip-me'"}],)"
            R"("variables":[{"name":"value","expression":"params.data.v + namespaceObject.metadata.name"}],"mutations":[)" +
            apply("Object{data: {'value': variables.value}}") + "]}}");
    make("mutatingadmissionpolicybindings",
         R"({"metadata":{"name":"p"},"spec":{"policyName":"p","paramRef":{"name":"values","parameterNotFoundAction":"Deny"}}})");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).at({"data", "value"}), "pdefault");
    EXPECT_EQ(post(ConfigMaps, config_map("skip-me")).body.at_path({"data", "value"}), nullptr);
}

}  // namespace
}  // namespace porthole::apiserver
