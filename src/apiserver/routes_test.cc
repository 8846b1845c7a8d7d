// Two parsers, one truth: what was authorized is what is served, on every route of every kind. A user is given rights of one shape and
// then asks for everything in every way; nothing outside that shape may be shown or changed.
#include <map>
#include <set>

#include "apiserver/access_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

/// Remembers what reached a kubelet, a pod or a service.
class CountingConnector final : public Connector {
public:
    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        if (request.path != "/metrics/resource")
            asked.insert(request.method + " " + target.host + request.path);  // the server's own question
        co_return Error(Reason::Unavailable, "connection refused");
    }
    Task<net::Upgraded> upgrade(ConnectTarget target, net::HttpRequest request) override {
        asked.insert("upgrade " + request.method + " " + target.host + request.path);
        co_return Error(Reason::Unavailable, "connection refused");
    }
    Task<> close() override { co_return {}; }

    std::set<std::string> asked;
};

class Routes : public Access {
protected:
    static constexpr const char* Mark = "kept-from-jane";

    Connector* make_connector() override { return &backends; }
    OutgoingClients* outgoing() override { return &servers; }
    /// In the namespaces "a" and "b" and outside of both: of every kind an object "x".
    void SetUp() override {
        ApiServerFixture::SetUp();
        post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
        for (const char* name : {"a", "b"}) {
            post("/api/v1/namespaces", R"({"metadata":{"name":")" + std::string(name) + R"("}})");
            post("/api/v1/namespaces/" + std::string(name) + "/serviceaccounts", R"({"metadata":{"name":"default"}})");
        }
        for (const schema::Kind* kind : stored_kinds()) {
            if (!kind->namespaced()) put(*kind, "", "x", extra(*kind, "n"));
            if (kind->namespaced()) put(*kind, "b", "x", extra(*kind, "b"));
        }
        loop.run_ready();
    }

    std::vector<const schema::Kind*> resource_kinds() const {
        std::vector<const schema::Kind*> kinds;
        for (const schema::Kind* kind : api->registry().kinds())
            if (kind->is(schema::Kind::Resource) && !kind->plural.empty()) kinds.push_back(kind);
        return kinds;
    }
    /// Of which there can be objects in the store.
    std::vector<const schema::Kind*> stored_kinds() const {
        std::vector<const schema::Kind*> kinds = resource_kinds();
        std::erase_if(kinds, [](const schema::Kind* kind) { return !kind->has_verb("get") || kind->kind == "Namespace"; });
        return kinds;
    }
    /// What makes an object something that a proxy or a stream could reach.
    static std::string extra(const schema::Kind& kind, const std::string& where) {
        if (kind.kind == "Node") return R"(,"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]})";
        if (kind.kind == "Pod")
            return R"(,"spec":{"nodeName":"x","containers":[{"name":"c","image":"i"}]},"status":{"podIP":"10.244.0.9"})";
        if (kind.kind == "Service") return R"(,"spec":{"ports":[{"port":80}]})";
        return "";
    }
    void put(const schema::Kind& kind, const std::string& namespace_, const std::string& name, const std::string& more,
             const std::string& mark = Mark) {
        std::string value = R"({"kind":")" + std::string(kind.kind) + R"(","apiVersion":")" + kind.api_version() +
                            R"(","metadata":{"name":")" + name + R"(","uid":"u","annotations":{"mark":")" + mark + R"("})" +
                            (namespace_.empty() ? "" : R"(,"namespace":")" + namespace_ + '"') + "}" + more + "}";
        store::Transaction transaction;
        transaction.operations.push_back(store::Put{.key = object_key(kind, namespace_, name), .value = std::move(value)});
        ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));
    }
    /// Everything in the store, by key, but what is in the namespace.
    std::map<std::string, std::string> all_but(const std::string& namespace_) {
        std::map<std::string, std::string> revisions;
        const auto range = api->store().range({.prefix = "/"});
        EXPECT_TRUE(range);
        for (const store::RecordPtr& record : range->records) {
            const bool inside = !namespace_.empty() && record->key.contains("/" + namespace_ + "/");
            if (!inside) revisions[record->key] = store::to_string(record->modified);
        }
        return revisions;
    }

    /// One way to ask for something.
    struct Question {
        std::string method, path, body, content_type;
        bool upgrade = false;
    };
    /// Every method, patch and upgrade for a path.
    static std::vector<Question> questions(const std::string& path) {
        const std::string object =
            R"({"metadata":{"name":"x","namespace":"b","labels":{"touched":"yes"}},"target":{"kind":"Node","name":"n1"},)"
            R"("spec":{"replicas":7}})";
        const std::string watch = path.contains('?') ? "&watch=1&timeoutSeconds=1" : "?watch=1&timeoutSeconds=1";
        const std::string stream = path.contains('?') ? "&command=ls&stdout=1&ports=80" : "?command=ls&stdout=1&ports=80";
        return {{"GET", path},
                {"GET", path + watch},
                {"GET", path + stream, "", "", true},
                {"POST", path, object},
                {"POST", path + stream, "", "", true},
                {"PUT", path, object},
                {"PATCH", path, R"({"metadata":{"labels":{"touched":"yes"}},"spec":{"replicas":7}})", "application/merge-patch+json"},
                {"PATCH", path, R"([{"op":"add","path":"/metadata/labels","value":{"touched":"yes"}}])", "application/json-patch+json"},
                {"DELETE", path, R"({"gracePeriodSeconds":0})"}};
    }
    StreamKeeper ask(const Question& question) {
        StreamKeeper keeper;
        const std::size_t mark = question.path.find('?');
        net::HttpRequest request{.method = question.method, .path = question.path.substr(0, mark), .body = question.body};
        if (mark != std::string::npos) request.query = question.path.substr(mark + 1);
        if (!question.content_type.empty()) request.headers.add("content-type", question.content_type);
        if (question.upgrade) request.headers = {{"connection", "Upgrade"}, {"upgrade", "websocket"}};
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(jane(), std::move(request), keeper)));
        return keeper;
    }
    static std::string root_of(const schema::Kind& kind) {
        return (kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/") + std::string(kind.version);
    }
    static std::vector<std::string> with_subresources(const schema::Kind& kind, const std::string& path) {
        std::vector<std::string> paths{path};
        for (const schema::Subresource& subresource : kind.subresources) {
            paths.push_back(path + "/" + std::string(subresource.name));
            if (subresource.name == "proxy") paths.push_back(path + "/proxy/some/path");
        }
        return paths;
    }

    /// Gives wardle.example.com/v1 to a server that answers everything.
    void aggregate() {
        servers.at("https://10.244.0.7:443").answer = [](const net::HttpRequest&) {
            return net::HttpResponse{.code = 200, .headers = {}, .body = "{}"};
        };
        ASSERT_EQ(post("/api/v1/namespaces/default/services", R"({"metadata":{"name":"e"},"spec":{"ports":[{"port":443}]}})").code, 201);
        ASSERT_EQ(post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                       R"({"metadata":{"name":"e","labels":{"kubernetes.io/service-name":"e"}},"addressType":"IPv4",)"
                       R"("endpoints":[{"addresses":["10.244.0.7"]}],"ports":[{"name":"","port":443}]})")
                      .code,
                  201);
        ASSERT_EQ(post("/apis/apiregistration.k8s.io/v1/apiservices",
                       R"({"metadata":{"name":"v1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1",)"
                       R"("groupPriorityMinimum":1000,"versionPriority":1,"service":{"namespace":"default","name":"e"}}})")
                      .code,
                  201);
        loop.run_ready();
    }

    CountingConnector backends;
    FakeServers servers{loop};
};

TEST_F(Routes, RightsInANamespaceReachNothingElseByAnyRoute) {
    const auto bind = [&] {  // again for each kind: among what jane may delete is the binding
        post("/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings",
             R"({"metadata":{"name":"jane"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
             R"("name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
        loop.run_ready();
        ASSERT_EQ(ask({"GET", "/api/v1/namespaces/a/configmaps"}).code, 200);
    };
    const auto before = all_but("a");
    int routes = 0;
    for (const schema::Kind* kind : resource_kinds()) {
        bind();
        const std::string root = root_of(*kind), plural(kind->plural), in = "/namespaces/a/" + plural;
        std::vector<std::string> paths{root + in,
                                       root + "/" + plural,
                                       root + "/namespaces/b/" + plural,
                                       root + "/watch" + in,
                                       root + "/watch" + in + "/x",
                                       root + in + "?fieldSelector=metadata.namespace%3Db",
                                       root + in + "?namespace=b",
                                       root + "/namespaces/a%2F..%2Fb/" + plural,
                                       root + "/namespaces/a/../b/" + plural,
                                       root + "//namespaces//a//" + plural + "//x",
                                       root + in + "/..%2Fb%2Fx",
                                       root + in + "%2Fx"};
        for (const char* name : {"/x", "/b%2Fx", "/n1", "/http:x:80", "/https:n1:6443", "/b"}) {
            for (const std::string& path : with_subresources(*kind, root + in + name)) paths.push_back(path);
        }
        for (const std::string& path : with_subresources(*kind, root + "/" + plural + "/x")) paths.push_back(path);
        for (const std::string& path : with_subresources(*kind, root + "/namespaces/b/" + plural + "/x")) paths.push_back(path);
        for (const std::string& path : paths) {
            for (const Question& question : questions(path)) {
                const StreamKeeper answer = ask(question);
                ++routes;
                EXPECT_FALSE(answer.body.contains(Mark)) << question.method << " " << question.path << "\n" << answer.body;
                const bool of_none = !kind->namespaced() && path.starts_with(root + in) && !(plural == "namespaces");
                if (of_none) EXPECT_GE(answer.code, 400) << question.method << " " << question.path;
            }
        }
    }
    for (const auto& [key, revision] : before) {
        const auto record = api->store().get(key);
        EXPECT_TRUE(record && store::to_string(record->modified) == revision) << key;
    }
    for (const auto& [key, revision] : all_but("a"))
        EXPECT_TRUE(before.contains(key) || key.contains("/ipaddresses/") || key.contains("/allocation/")) << key;
    for (const std::string& asked : backends.asked) EXPECT_EQ(asked, "") << "there is nothing in the namespace that could be asked";
    EXPECT_GT(routes, 10'000);
}

TEST_F(Routes, RightsInANamespaceReachNothingElseOfAnAggregatedApi) {
    aggregate();
    post("/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings",
         R"({"metadata":{"name":"jane"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},)"
         R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
    loop.run_ready();
    FakeServers::Server& extension = servers.at("https://10.244.0.7:443");
    extension.requests.clear();
    const std::string root = "/apis/wardle.example.com/v1", in = root + "/namespaces/a/flunders";
    std::vector<std::string> paths;
    for (const char* path : {"/flunders",
                             "/flunders/x",
                             "/namespaces/b/flunders",
                             "/namespaces/b/flunders/x",
                             "/watch/flunders",
                             "/watch/namespaces/b/flunders",
                             "/watch/namespaces/a/flunders",
                             "/namespaces/a%2F..%2Fb/flunders",
                             "/namespaces/a/../b/flunders",
                             "/namespaces/a/%2E%2E/b/flunders",
                             "//namespaces//a//flunders//x",
                             "/namespaces//b/flunders",
                             "/namespaces/a%2Fb/flunders",
                             "/namespaces/a",
                             "/namespaces/b",
                             "/namespaces/a/status",
                             "/./namespaces/b/flunders",
                             "/namespaces/a/flunders?namespace=b",
                             "/namespaces/a/flunders;x/../../b",
                             "/namespaces/a%00/flunders",
                             "/namespaces/a%3Fb/flunders",
                             "/namespaces/a/flunders/x/proxy/..%2F..%2F..%2Fb%2Fflunders",
                             "/namespaces/a/flunders?fieldSelector=metadata.namespace%3Db",
                             "/namespaces/a/flunders/%2e%2e%2f%2e%2e%2fb"})
        paths.push_back(root + path);
    for (const char* path : {"/x", "/x/status", "/x/exec", "/x/proxy/some/path/", "/..%2Fb%2Fx", "/b%2Fx"}) paths.push_back(in + path);
    for (const std::string& path : paths)
        for (const Question& question : questions(path)) ask(question);
    EXPECT_GT(extension.requests.size(), 20u);
    for (const net::HttpRequest& sent : extension.requests) {
        if (sent.headers.get("x-remote-user") != "jane") continue;  // the aggregation layer asks for itself, too
        // As an extension server reads it: decoded first, then cut at every slash.
        std::vector<std::string> parts = split(net::percent_decode(sent.path).substr(1), '/');
        ASSERT_GE(parts.size(), 5u) << sent.path;
        if (parts[3] == "watch") parts.erase(parts.begin() + 3);
        EXPECT_EQ(parts[1], "wardle.example.com") << sent.path;
        EXPECT_EQ(parts[3], "namespaces") << sent.path;
        EXPECT_EQ(parts[4], "a") << sent.path;
        EXPECT_EQ(std::ranges::count(parts, ".."), 0) << sent.path;
    }
}

TEST_F(Routes, RightsToReadChangeNothingByAnyRoute) {
    grant(R"({"apiGroups":["*"],"resources":["*"],"verbs":["get","list","watch"]})");
    const auto before = all_but("");
    int routes = 0;
    for (const schema::Kind* kind : resource_kinds()) {
        const std::string in = root_of(*kind) + (kind->namespaced() ? "/namespaces/b/" : "/") + std::string(kind->plural);
        std::vector<std::string> paths = with_subresources(*kind, in + "/x");
        paths.insert(paths.end(), {in, in + "/new", root_of(*kind) + "/watch/" + std::string(kind->plural)});
        for (const std::string& path : paths) {
            for (const Question& question : questions(path)) {
                const StreamKeeper answer = ask(question);
                ++routes;
                const bool review = kind->kind.starts_with("Self");  // anybody may ask about themselves
                if (question.method != "GET" && !review) EXPECT_GE(answer.code, 400) << question.method << " " << question.path;
            }
        }
    }
    EXPECT_EQ(all_but(""), before);
    for (const std::string& asked : backends.asked) {
        EXPECT_TRUE(asked.starts_with("GET ") || asked.starts_with("upgrade GET ")) << asked;
        for (const char* running : {"/exec/", "/attach/", "/portForward/"}) EXPECT_FALSE(asked.contains(running)) << asked;
    }
    EXPECT_TRUE(backends.asked.contains("GET 10.0.0.9/some/path")) << "to read through a proxy is allowed";
    EXPECT_GT(routes, 2'000);
}

TEST_F(Routes, RightsToOneNameChangeAndShowNoOtherByAnyRoute) {
    for (const schema::Kind* kind : stored_kinds()) put(*kind, kind->namespaced() ? "b" : "", "mine", extra(*kind, "b"), "nothing");
    grant(R"({"apiGroups":["*"],"resources":["*"],"verbs":["*"],"resourceNames":["mine"]})");
    const auto others = [&] {
        auto all = all_but("");
        std::erase_if(all, [](const auto& entry) {  // a service of hers may get an address
            return entry.first.ends_with("/mine") || entry.first.contains("/ipaddresses/") || entry.first.contains("/allocation/");
        });
        return all;
    };
    const auto before = others();
    for (const schema::Kind* kind : resource_kinds()) {
        const std::string root = root_of(*kind), in = (kind->namespaced() ? "/namespaces/b/" : "/") + std::string(kind->plural);
        std::vector<std::string> paths = with_subresources(*kind, root + in + "/mine");
        for (const std::string& path : with_subresources(*kind, root + in + "/mine%2F..%2Fx")) paths.push_back(path);
        paths.insert(paths.end(), {root + in + "?fieldSelector=metadata.name%3Dmine", root + "/watch" + in + "/mine",
                                   root + in + "?fieldSelector=metadata.name%3Dmine,metadata.name%3Dx", root + in + "/mine/x"});
        for (const std::string& path : paths) {
            for (const Question& question : questions(path)) {  // whose bodies name "x"
                if (question.method == "DELETE" && path.ends_with("/mine")) continue;
                const StreamKeeper answer = ask(question);
                EXPECT_FALSE(answer.body.contains(Mark)) << question.method << " " << question.path << "\n" << answer.body;
            }
        }
    }
    const auto after = others();
    for (const auto& [key, revision] : before) EXPECT_TRUE(after.contains(key) && after.at(key) == revision) << key;
    for (const auto& [key, revision] : after) EXPECT_TRUE(before.contains(key)) << key;
    for (const std::string& asked : backends.asked) EXPECT_FALSE(asked.contains("/b/x/")) << asked;
}

}  // namespace
}  // namespace porthole::apiserver
