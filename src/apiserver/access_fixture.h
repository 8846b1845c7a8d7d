#pragma once
#include "apiserver/api_server_fixture.h"
#include "apiserver/storage/keys.h"

namespace porthole::apiserver {

/// Requests of users with few rights, through the whole server.
class Access : public ApiServerFixture {
protected:
    /// Also keeps streamed bodies.
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
        Task<std::string> read_body() override {
            ++bodies_read;
            co_return request_body;
        }
        std::string request_body = R"({"metadata":{"name":"c"}})";
        int code = 0, bodies_read = 0;
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

    /// A new server on the same disk.
    void restart() {
        ASSERT_TRUE(sim::run(loop, transport->close()));
        ASSERT_TRUE(sim::run(loop, api->close()));
        transport.reset();
        auto again = ApiServer::open({loop, pool, random, Logger(make_null_sink(), "test"), nullptr}, make_engine(), options());
        ASSERT_TRUE(again);
        api = std::move(*again);
        ASSERT_TRUE(sim::run(loop, api->start())) << "the server starts with what is stored";
        transport = api->transport(loopback_user(), "test");
    }

    /// Stores an object of any kind directly, with nothing but its metadata.
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

}  // namespace porthole::apiserver
