#include "apiserver/api_server_fixture.h"
#include "apiserver/cache/keys.h"

namespace porthole::apiserver {
namespace {

/// Requests of users with few rights, through the whole server.
class Access : public ApiServerFixture {
protected:
    /// Keeps streamed bodies too.
    struct StreamKeeper final : net::HttpResponder {
        Task<> respond(int code_, net::Headers, std::vector<net::Bytes> pieces) override {
            code = code_;
            for (const net::Bytes& piece : pieces) body += *piece;
            co_return {};
        }
        Task<> start(int code_, net::Headers) override {
            code = code_;
            co_return {};
        }
        Task<> write(net::Bytes piece) override {
            body += *piece;
            co_return {};
        }
        Task<> finish(net::Headers) override { co_return {}; }
        Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override { co_return Error(Reason::BadRequest, "no upgrade"); }
        bool started() const override { return code != 0; }
        int code = 0;
        std::string body;
    };

    static User jane() { return {.name = "jane", .groups = {std::string(GroupAuthenticated)}}; }

    StreamKeeper as(User user, std::string method, std::string path_and_query, std::string body = "", std::string content_type = "") {
        StreamKeeper keeper;
        const std::size_t mark = path_and_query.find('?');
        net::HttpRequest request{.method = std::move(method), .path = path_and_query.substr(0, mark), .body = std::move(body)};
        if (mark != std::string::npos) request.query = path_and_query.substr(mark + 1);
        if (!content_type.empty()) request.headers.add("content-type", content_type);
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(std::move(user), std::move(request), keeper)));
        return keeper;
    }

    /// jane gets the rules, everywhere. The caches follow before the next request.
    void grant(const std::string& rules, const std::string& name = "granted") {
        const Answer role =
            post("/apis/rbac.authorization.k8s.io/v1/clusterroles", R"({"metadata":{"name":")" + name + R"("},"rules":[)" + rules + "]}");
        ASSERT_EQ(role.code, 201) << role.text;
        const Answer bound = post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                                  R"({"metadata":{"name":")" + name +
                                      R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
                                      R"("kind":"ClusterRole","name":")" +
                                      name +
                                      R"("},)"
                                      R"("subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
        ASSERT_EQ(bound.code, 201) << bound.text;
        loop.run_ready();
    }

    /// Puts an object of any kind into the store as it is, with nothing but its metadata.
    void put_bare(const schema::Kind& kind, const std::string& name) {
        const std::string namespace_ = kind.namespaced() ? "default" : "";
        std::string value =
            R"({"kind":")" + std::string(kind.kind) + R"(","apiVersion":")" + kind.api_version() + R"(","metadata":{"name":")" + name + '"';
        if (kind.namespaced()) value += R"(,"namespace":"default")";
        store::Transaction transaction;
        transaction.operations.push_back(store::Put{.key = object_key(kind, namespace_, name), .value = value + "}}"});
        ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));
    }
};

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

}  // namespace
}  // namespace porthole::apiserver
