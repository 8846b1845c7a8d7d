// Whole requests to a real API server, from a user who may do everything: what stands behind authentication.
#include "api/registry.h"
#include "apiserver/example_options.h"
#include "fuzz_target.h"
#include "net/http/kept_answer.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "store/memory/memory_engine.h"

using namespace porthole;
using namespace porthole::apiserver;
using namespace porthole::fuzz;

namespace {

struct Question {
    std::string method, path, query, body, content_type, accept;
    std::string user_agent{};
};

/// Whatever a client has sent, a line of the audit log is JSON.
struct ReadEvents final : AuditBackend {
    void add(const std::string& event) override { expect(!event.contains('\n') && schema::parse_json(event).has_value()); }
    std::vector<Lost> lost() const override { return {}; }
    /// With the bodies of requests and answers.
    static AuditPolicy everything() {
        std::vector<std::string> warnings;
        auto policy = AuditPolicy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]", warnings);
        expect(policy && warnings.empty());
        return *std::move(policy);
    }
};

/// A server with a few objects; made anew after some thousands of requests, so that what was created does not pile up.
class World {
public:
    World() {
        ApiServerOptions options = example_options();
        options.audit = &auditor_;
        api_ = std::move(*ApiServer::open({loop_, pool_, random_, Logger(make_null_sink(), "fuzz")},
                                          std::make_unique<store::MemoryEngine>(disk_), std::move(options)));
        expect(sim::run(loop_, api_->start()).has_value());
        const auto make = [&](const char* path, const char* body) {
            expect(ask({.method = "POST", .path = path, .query = {}, .body = body, .content_type = {}, .accept = {}}).code == 201);
        };
        make("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
        make("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a","labels":{"a":"1"}},"data":{"a":"1"}})");
        make("/api/v1/namespaces/default/pods", R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}})");
        make("/apis/apps/v1/namespaces/default/deployments",
             R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},)"
             R"("spec":{"containers":[{"name":"a","image":"i"}]}}}})");
        make("/api/v1/namespaces/default/services", R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}})");
        make("/api/v1/nodes", R"({"metadata":{"name":"a"}})");
    }
    ~World() { expect(sim::run(loop_, api_->close()).has_value()); }

    net::KeptAnswer ask(Question question) {
        net::KeptAnswer answer;
        net::HttpRequest request{.method = std::move(question.method),
                                 .path = std::move(question.path),
                                 .query = std::move(question.query),
                                 .body = std::move(question.body)};
        if (!question.content_type.empty()) request.headers.add("content-type", std::move(question.content_type));
        if (!question.accept.empty()) request.headers.add("accept", std::move(question.accept));
        if (!question.user_agent.empty()) request.headers.add("user-agent", std::move(question.user_agent));
        const auto done = sim::run(loop_, api_->server().handle_as(loopback_user(), std::move(request), answer), std::chrono::minutes(5));
        expect(done.has_value() || !answer.started() || answer.code >= 200);
        return answer;
    }
    bool worn() const { return api_->store().revision().value > 4000; }

private:
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    SeededRandom random_{7};
    store::MemoryDisk disk_;
    ReadEvents events_;
    Auditor auditor_{ReadEvents::everything(), {&events_}};
    std::unique_ptr<ApiServer> api_;
};

/// Kubernetes answers 500 to server-side apply with fields that the kind does not have.
bool is_undeclared_field(const net::KeptAnswer& answer) { return answer.body.contains("failed to create typed patch object"); }

/// Asks; whatever the client has sent, it is not the server's fault, and what is answered to a request for an object is an object.
net::KeptAnswer ask(Question question) {
    static std::unique_ptr<World> world;
    if (!world || world->worn()) {
        world.reset();
        world = std::make_unique<World>();
    }
    // There are no nodes here to which these could be passed on.
    bool elsewhere = false;
    for (const char* subresource : {"/proxy", "/log", "/exec", "/attach", "/portforward"}) elsewhere |= question.path.contains(subresource);
    const bool json =
        question.accept.empty() && !question.query.contains("watch") && question.path.starts_with("/api/v1/namespaces/default/");
    net::KeptAnswer answer = world->ask(std::move(question));
    expect(answer.code != 500 || elsewhere || is_undeclared_field(answer));
    if (json && !elsewhere && !answer.body.empty() && answer.code < 300) expect(schema::parse_json(answer.body).has_value());
    return answer;
}

const Vocabulary Words{{"metadata",
                        "name",
                        "namespace",
                        "labels",
                        "annotations",
                        "finalizers",
                        "ownerReferences",
                        "uid",
                        "resourceVersion",
                        "generateName",
                        "spec",
                        "status",
                        "data",
                        "binaryData",
                        "containers",
                        "initContainers",
                        "image",
                        "ports",
                        "port",
                        "targetPort",
                        "protocol",
                        "env",
                        "valueFrom",
                        "volumes",
                        "volumeMounts",
                        "selector",
                        "matchLabels",
                        "template",
                        "replicas",
                        "resources",
                        "limits",
                        "cpu",
                        "memory",
                        "tolerations",
                        "type",
                        "clusterIP",
                        "rules",
                        "verbs",
                        "apiGroups",
                        "subjects",
                        "roleRef",
                        "kind",
                        "apiVersion",
                        "key",
                        "operator",
                        "values",
                        "schedule",
                        "affinity",
                        "conditions",
                        "restartPolicy",
                        "deletionTimestamp",
                        "managedFields",
                        "immutable",
                        "provisioner",
                        "value",
                        "items"},
                       {"a",          "b",
                        "default",    "kube-system",
                        "1",          "100m",
                        "1Gi",        "TCP",
                        "NodePort",   "None",
                        "Always",     "In",
                        "*",          "get",
                        "v1",         "Pod",
                        "0 * * * *",  "",
                        "10.96.0.10", "app.kubernetes.io/name",
                        "x/y",        "2024-01-02T03:04:05Z"}};

constexpr const char* Objects[] = {"/api/v1/namespaces/default/configmaps/a",
                                   "/api/v1/namespaces/default/pods/a",
                                   "/apis/apps/v1/namespaces/default/deployments/a",
                                   "/api/v1/namespaces/default/services/a",
                                   "/api/v1/nodes/a",
                                   "/api/v1/namespaces/default",
                                   "/api/v1/namespaces/default/pods/b"};

schema::Value object(Choices& choices, const char* name) {
    schema::Value made = schema::Value::object({{"metadata", schema::Value::object({{"name", name}})}});
    for (const char* part : {"metadata", "spec", "data", "status", "rules"}) {
        if (choices.below(2)) continue;
        schema::Value value = make_value(choices, Words, 5);
        if (std::string_view(part) == "metadata" && value.is_object() && choices.below(4)) value["name"] = name;
        made[part] = std::move(value);
    }
    return made;
}

/// A collection of any kind that there is.
std::string collection(Choices& choices) {
    std::vector<const schema::Kind*> kinds;
    for (const schema::Kind* kind : api::kinds())
        if (kind->is(schema::Kind::Resource) && kind->lifecycle.stage == schema::Stage::Stable) kinds.push_back(kind);
    const schema::Kind& kind = *choices.of(kinds);
    std::string path = kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/";
    path += kind.version;
    if (kind.namespaced()) path += "/namespaces/default";
    return path + "/" + std::string(kind.plural);
}

}  // namespace

/// Lines: method, path, query, content type, accept, user agent; the rest is the body.
FUZZ_TARGET(api_request_fuzz) {
    Question question;
    for (std::string* part :
         {&question.method, &question.path, &question.query, &question.content_type, &question.accept, &question.user_agent})
        *part = cut(text, '\n');
    question.body = text;
    if (!question.path.starts_with('/')) question.path.insert(0, "/");
    if (question.query.find("watch") != std::string::npos || question.path.find("/watch") != std::string::npos)
        question.query += "&timeoutSeconds=1";
    static_cast<void>(ask(std::move(question)));
}

FUZZ_TARGET(api_patch_fuzz) {
    Choices choices(text);
    constexpr const char* Types[] = {"application/json-patch+json", "application/merge-patch+json",
                                     "application/strategic-merge-patch+json", "application/apply-patch+yaml"};
    Question question{
        .method = "PATCH", .path = choices.of(Objects), .query = {}, .body = {}, .content_type = choices.of(Types), .accept = {}};
    if (choices.below(4) == 0) question.path += choices.of({"/status", "/scale", "/ephemeralcontainers", "/resize"});
    if (choices.below(4))
        question.query = choices.of({"fieldManager=a", "fieldManager=b&force=true", "dryRun=All&fieldManager=a", "fieldValidation=Strict"});
    if (question.content_type == Types[0]) {
        schema::Array operations;
        for (std::size_t i = 1 + choices.below(6); i > 0; --i) {
            schema::Value operation = schema::Value::object({{"op", choices.of({"add", "remove", "replace", "copy", "move", "test"})}});
            std::string path;
            for (std::size_t steps = choices.below(5); steps > 0; --steps) path += std::string("/") + choices.of(Words.keys);
            operation["path"] = path;
            operation["from"] = std::string("/") + choices.of(Words.keys);
            operation["value"] = make_value(choices, Words, 2);
            operations.push_back(std::move(operation));
        }
        question.body = schema::to_json(operations);
    } else {
        schema::Value patch = object(choices, "a");
        if (question.content_type == Types[3]) {
            patch["apiVersion"] = question.path.starts_with("/apis/apps") ? "apps/v1" : "v1";
            patch["kind"] = choices.of({"ConfigMap", "Pod", "Deployment", "Service", "Node", "Namespace"});
        }
        question.body = schema::to_json(patch);
    }
    question.user_agent = choices.text(20);
    static_cast<void>(ask(std::move(question)));
}

/// Creates an object of any kind, reads it, replaces it and deletes it.
FUZZ_TARGET(api_write_fuzz) {
    Choices choices(text);
    const std::string path = collection(choices);
    const std::string body = schema::to_json(object(choices, "fuzz"));
    const net::KeptAnswer made = ask({.method = "POST", .path = path, .query = {}, .body = body, .content_type = {}, .accept = {}});
    if (made.code != 201) return;
    const net::KeptAnswer read = ask({.method = "GET", .path = path + "/fuzz", .query = {}, .body = {}, .content_type = {}, .accept = {}});
    expect(read.code == 200 || read.code == 404 || read.code == 405);  // reviews are answered and not kept
    if (read.code != 200) return;
    const std::string other = schema::to_json(object(choices, "fuzz"));
    for (const std::string& replacement : {read.body, other}) {
        static_cast<void>(
            ask({.method = "PUT", .path = path + "/fuzz", .query = {}, .body = replacement, .content_type = {}, .accept = {}}));
    }
    for (const char* accept : {"application/json;as=Table;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf", "application/yaml"}) {
        static_cast<void>(ask({.method = "GET", .path = path, .query = {}, .body = {}, .content_type = {}, .accept = accept}));
    }
    const std::string at_once = R"({"gracePeriodSeconds":0,"propagationPolicy":"Background"})";
    static_cast<void>(ask({.method = "DELETE", .path = path + "/fuzz", .query = {}, .body = at_once, .content_type = {}, .accept = {}}));
}

FUZZ_TARGET(api_selector_fuzz) {
    Choices choices(text);
    const std::string path = collection(choices);
    std::string query;
    const auto add = [&](const char* name, const std::string& value) {
        query += (query.empty() ? "" : "&") + std::string(name) + "=";
        for (const char c : value) {
            constexpr char Digits[] = "0123456789ABCDEF";
            query += {'%', Digits[static_cast<unsigned char>(c) >> 4], Digits[static_cast<unsigned char>(c) & 15]};
        }
    };
    if (choices.below(2)) {
        std::string selector;
        for (std::size_t i = choices.below(4); i > 0; --i) {
            selector +=
                choices.of({"a", "!a", "app.kubernetes.io/name", "metadata.name", "status.phase", "spec.nodeName", "metadata.namespace"});
            selector += choices.of({"=", "==", "!=", " in (a,b)", " notin (a)", ""});
            selector += choices.of({"a", "Running", "", "\\,"}) + std::string(i > 1 ? "," : "");
        }
        add(choices.of({"labelSelector", "fieldSelector"}), selector);
    }
    if (choices.below(2)) add(choices.of({"labelSelector", "fieldSelector"}), choices.text(30));
    if (choices.below(3) == 0) add("limit", choices.of({"1", "-1", "0", "9223372036854775807", "x"}));
    if (choices.below(3) == 0) add("continue", choices.text(20));
    if (choices.below(3) == 0) add("resourceVersion", choices.of({"0", "1", "99999999", "x", "-1"}));
    if (choices.below(3) == 0) add("resourceVersionMatch", choices.of({"Exact", "NotOlderThan", "x"}));
    if (choices.below(4) == 0) query += "&watch=true&timeoutSeconds=1&allowWatchBookmarks=true";
    if (choices.below(8) == 0) query += "&sendInitialEvents=true";
    const char* method = choices.below(8) ? "GET" : "DELETE";
    if (choices.below(2)) add("pretty", choices.below(2) ? choices.text(5) : choices.of({"1", "true", "0", "x"}));
    static_cast<void>(ask({.method = method, .path = path, .query = query, .body = {}, .content_type = {}, .accept = {}}));
}

FUZZ_TARGET(api_subresource_fuzz) {
    Choices choices(text);
    std::string path = choices.below(8) ? std::string(choices.of(Objects)) : "/api/v1/namespaces/default/serviceaccounts/default";
    path += choices.of({"/status", "/scale", "/eviction", "/binding", "/token", "/ephemeralcontainers", "/exec", "/log", "/portforward",
                        "/attach", "/proxy", "/proxy/a/b", "/finalize", "/approval", "/resize", "/a"});
    const char* method = choices.of({"GET", "PUT", "POST", "PATCH", "DELETE"});
    schema::Value body = object(choices, "a");
    if (choices.below(2)) body["kind"] = choices.of({"Scale", "Eviction", "Binding", "TokenRequest", "Namespace", "Pod"});
    if (choices.below(2)) body["spec"] = make_value(choices, Words, 4);
    if (choices.below(4) == 0) body["target"] = schema::Value::object({{"kind", "Node"}, {"name", choices.of({"a", "b"})}});
    const std::string query = choices.of({"", "container=a&command=a", "ports=80", "dryRun=All", "tailLines=1&sinceSeconds=x"});
    static_cast<void>(
        ask({.method = method, .path = path, .query = query, .body = schema::to_json(body), .content_type = {}, .accept = {}}));
}
