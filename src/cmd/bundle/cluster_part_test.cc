#include "cmd/bundle/cluster_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/bundle/archive_fixture.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::bundle {
namespace {

using testing::HasSubstr;

/// A server that answers by path, and says of all else that there is no such thing.
class Server final : public client::Transport {
public:
    Task<client::ApiResponse> call(client::ApiRequest request) override {
        asked.push_back(request.path + (request.query.empty() ? "" : "?" + request.query));
        const auto found = answers.find(asked.back());
        const auto plain = found == answers.end() ? answers.find(request.path) : found;
        if (plain == answers.end()) co_return Error(Reason::NotFound, "not served: " + request.path);
        co_return client::ApiResponse{.code = 200, .body = std::make_shared<const std::string>(plain->second)};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::NotFound, "no watches"); }

    std::map<std::string, std::string> answers;
    std::vector<std::string> asked;
};

struct ClusterPart : ArchiveFixture {
    ClusterPart() {
        server.answers = {
            {"/version", R"({"gitVersion":"v1.36.0"})"},
            {"/api", R"({"versions":["v1"]})"},
            {"/apis", R"({"groups":[]})"},
            {"/api/v1", R"({"resources":[{"name":"secrets","kind":"Secret","namespaced":true,"verbs":["list"]},
                            {"name":"nodes","kind":"Node","verbs":["list"]},{"name":"bindings","kind":"Binding","verbs":["create"]}]})"},
            {"/api/v1/nodes", R"({"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"w"}}]})"},
            {"/api/v1/namespaces/kube-system/pods",
             R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"dns"},"spec":{"containers":[{"name":"c"}]}}]})"},
            {"/api/v1/namespaces/kube-system/pods/dns/log", "token=abc\n"},
            {"/api/v1/nodes/w/proxy/logs/?query=kubelet&tailLines=5000", "kubelet started\n"},
        };
    }
    std::map<std::string, std::string> gather() {
        client::Client client(server);
        EXPECT_TRUE(sim::run(loop, add_cluster(client, *writer)));
        EXPECT_TRUE(writer->add_notes());
        return entries();
    }

    sim::SimLoop loop;
    Server server;
};

TEST_F(ClusterPart, HasObjectsLogsAndWhatNodesSay) {
    server.answers["/api/v1/secrets"] =
        R"({"kind":"SecretList","metadata":{},"items":[{"metadata":{"name":"s"},"data":{"k":"dmFsdWU="}}]})";
    const auto found = gather();
    EXPECT_EQ(found.at("cluster/version.json"), "{\"gitVersion\":\"v1.36.0\"}\n");
    EXPECT_THAT(found.at("cluster/objects/secrets.json"), HasSubstr(R"("k":"<removed: 8 bytes>")"));
    EXPECT_THAT(found.at("cluster/objects/nodes.json"), HasSubstr(R"("name":"w")"));
    EXPECT_FALSE(found.contains("cluster/objects/bindings.json"));
    EXPECT_EQ(found.at("cluster/logs/dns/c.log"), "token=<removed>\n");
    EXPECT_EQ(found.at("nodes/w/kubelet.log"), "kubelet started\n");
    EXPECT_THAT(found.at("errors.txt"), HasSubstr("nodes/w/kube-proxy.log: "));
}

TEST_F(ClusterPart, ReadsLongListsPageByPage) {
    server.answers["/api/v1/secrets?limit=500"] = R"({"kind":"SecretList","metadata":{"continue":"next"},"items":[]})";
    server.answers["/api/v1/secrets?limit=500&continue=next"] =
        R"({"kind":"SecretList","metadata":{},"items":[{"metadata":{"name":"last"}}]})";
    const auto found = gather();
    EXPECT_THAT(found.at("cluster/objects/secrets-2.json"), HasSubstr("last"));
}

}  // namespace
}  // namespace porthole::cmd::bundle
