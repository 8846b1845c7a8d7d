#pragma once
#include <gtest/gtest.h>

#include "apiserver/example_options.h"
#include "net/http/kept_answer.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "store/memory/memory_engine.h"

namespace porthole::apiserver {

// Paths that many tests use.
inline constexpr const char* Pods = "/api/v1/namespaces/default/pods";
inline constexpr const char* ConfigMaps = "/api/v1/namespaces/default/configmaps";

/// Keeps audit events.
struct KeptEvents final : AuditBackend {
    void add(const std::string& event) override { events.push_back(event); }
    std::vector<Lost> lost() const override { return {}; }
    /// A policy of one event a request, at the level Metadata.
    static AuditPolicy everything() { return policy("rules: [{level: Metadata}]\nomitStages: [RequestReceived]"); }
    static AuditPolicy policy(const std::string& rules) {
        std::vector<std::string> warnings;
        auto parsed = AuditPolicy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\n" + rules, warnings);
        EXPECT_TRUE(parsed && warnings.empty()) << rules;
        return *std::move(parsed);
    }

    std::vector<std::string> events;
};

/// A complete API server under virtual time; tests send requests as clients do.
class ApiServerFixture : public testing::Test {
protected:
    struct Answer {
        int code = 0;
        schema::Value body;
        std::string text;
        std::string_view at(std::initializer_list<std::string_view> path) const { return body.string_at(path); }
    };

    void SetUp() override {
        SetUpAgain();
        // Objects that the controllers would create.
        ASSERT_EQ(post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})").code, 201);
    }
    /// After TearDown(): starts the server again from the disk.
    void SetUpAgain() {
        auto opened = ApiServer::open({loop, pool, random, logger(), make_connector(), outgoing()}, make_engine(), options());
        ASSERT_TRUE(opened) << opened.error().message;
        api = std::move(*opened);
        const auto started = sim::run(loop, api->start());
        ASSERT_TRUE(started) << started.error().message;
        transport = api->transport(loopback_user(), "test");
    }
    virtual ApiServerOptions options() { return example_options(); }
    virtual std::unique_ptr<store::Engine> make_engine() { return std::make_unique<store::MemoryEngine>(disk); }
    virtual Logger logger() { return Logger(make_null_sink(), "test"); }
    /// Where requests for nodes and pods go; nowhere.
    virtual Connector* make_connector() { return nullptr; }
    /// Clients of webhooks and token issuers; none by default.
    virtual OutgoingClients* outgoing() { return nullptr; }
    void TearDown() override {
        if (!transport) return;
        ASSERT_TRUE(sim::run(loop, transport->close()));
        ASSERT_TRUE(sim::run(loop, api->close()));
        transport.reset();
        api.reset();
    }

    Answer call(std::string method, std::string path_and_query, std::string body = "", std::string content_type = "",
                std::string accept = "") {
        client::ApiRequest request{
            .method = std::move(method), .content_type = std::move(content_type), .body = std::move(body), .accept = std::move(accept)};
        const std::size_t mark = path_and_query.find('?');
        request.path = path_and_query.substr(0, mark);
        if (mark != std::string::npos) request.query = path_and_query.substr(mark + 1);
        auto response = sim::run(loop, transport->call(std::move(request)));
        EXPECT_TRUE(response) << response.error().message;
        Answer answer{.code = response->code, .text = *response->body};
        if (auto tree = schema::parse_json(answer.text)) answer.body = std::move(*tree);
        return answer;
    }
    /// The Warning headers of the answer, one per line.
    std::string warnings_of(std::string method, std::string path, std::string body = "") {
        HeaderKeeper keeper;
        net::HttpRequest request{.method = std::move(method), .path = std::move(path), .body = std::move(body)};
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
        std::string told;
        for (const auto& [name, value] : keeper.headers.fields())
            if (name == "warning") told += value + "\n";
        return told;
    }
    Answer get(std::string path) { return call("GET", std::move(path)); }
    Answer post(std::string path, std::string body) { return call("POST", std::move(path), std::move(body)); }
    Answer put(std::string path, std::string body) { return call("PUT", std::move(path), std::move(body)); }
    Answer merge(std::string path, std::string body) {
        return call("PATCH", std::move(path), std::move(body), "application/merge-patch+json");
    }
    Answer remove(std::string path, std::string options = "") { return call("DELETE", std::move(path), std::move(options)); }

    /// A pod that passes validation, in the namespace default.
    static std::string pod(const std::string& name, const std::string& extra_spec = "") {
        return R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"i:1"}])" + extra_spec + "}}";
    }
    static std::string config_map(const std::string& name, const std::string& value = "v") {
        return R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + value + R"("}},"data":{"k":")" + value + R"("}})";
    }

    /// Keeps an answer including its head, which calls within the process drop.
    using HeaderKeeper = net::KeptAnswer;

    /// A watch whose events are read one at a time.
    class WatchReader {
    public:
        WatchReader(sim::SimLoop& loop, std::unique_ptr<client::ApiStream> stream) : loop_(loop), stream_(std::move(stream)) {}
        /// "ADDED name", or "" if nothing arrives within `limit`.
        std::string next(Duration limit = std::chrono::seconds(1)) {
            auto event = sim::run(loop_, with_timeout(stream_->next(), limit, "next event"));
            if (!event) return "";
            if (!*event) return "END";
            last = *schema::parse_json(***event);
            const std::string name(last.string_at({"object", "metadata", "name"}));
            return std::string(last.string_at({"type"})) + (name.empty() ? "" : " " + name);
        }
        schema::Value last;

    private:
        sim::SimLoop& loop_;
        std::unique_ptr<client::ApiStream> stream_;
    };
    WatchReader watch(std::string path, std::string query) {
        auto stream = sim::run(loop, transport->watch({.method = "GET", .path = std::move(path), .query = "watch=true&" + query}));
        EXPECT_TRUE(stream) << stream.error().message;
        return WatchReader(loop, std::move(*stream));
    }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    SeededRandom random{7};
    store::MemoryDisk disk;
    std::unique_ptr<ApiServer> api;
    std::unique_ptr<LocalTransport> transport;
};

}  // namespace porthole::apiserver
