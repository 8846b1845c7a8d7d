#include "apiserver/resource_metrics/resource_metrics.h"
#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr const char* Metrics = "/apis/metrics.k8s.io/v1beta1";
constexpr const char* Table = "application/json;as=Table;v=v1;g=meta.k8s.io";

class WholeBody final : public net::HttpBody {
public:
    WholeBody(int code, std::string text) : code_(code), text_(std::move(text)) {}
    int code() const override { return code_; }
    const net::Headers& headers() const override { return headers_; }
    Task<std::optional<std::string>> next() override { co_return std::exchange(text_, std::nullopt); }

private:
    int code_;
    std::optional<std::string> text_;
    net::Headers headers_;
};

/// Kubelets by their address, whose texts tests write.
class FakeKubelets final : public Connector {
public:
    explicit FakeKubelets(EventLoop& loop) : loop_(loop) {}
    Task<std::unique_ptr<net::HttpBody>> open(ConnectTarget target, net::HttpRequest request) override {
        EXPECT_EQ(request.path, "/metrics/resource");
        EXPECT_EQ(target.security, ConnectTarget::Security::Kubelet);
        ++asked;
        most_at_once = std::max(most_at_once, ++at_once_);
        const auto slept = co_await loop_.sleep(slow.contains(target.host) ? Duration(1h) : Duration(100ms));
        --at_once_;
        if (!slept) co_return slept.error();
        if (!texts.contains(target.host)) co_return Error(Reason::Unavailable, "connection refused");
        co_return std::unique_ptr<net::HttpBody>(std::make_unique<WholeBody>(code, texts[target.host]));
    }
    Task<net::Upgraded> upgrade(ConnectTarget, net::HttpRequest) override { co_return Error(Reason::Unavailable, "not here"); }
    Task<> close() override { co_return {}; }

    std::map<std::string, std::string> texts;
    std::set<std::string> slow;
    int code = 200, asked = 0, most_at_once = 0;

private:
    EventLoop& loop_;
    int at_once_ = 0;
};

class ResourceMetricsTest : public ApiServerFixture {
protected:
    Connector* make_connector() override { return &kubelets; }
    void SetUp() override {
        ApiServerFixture::SetUp();
        add_node("n1", "10.0.0.1");
        post("/api/v1/namespaces/default/pods", pod("p", R"(,"nodeName":"n1")"));
        merge("/api/v1/namespaces/default/pods/p", R"({"metadata":{"labels":{"app":"web"}}})");
    }
    void add_node(const std::string& name, const std::string& address) {
        ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":")" + name + R"(","labels":{"zone":"z"}},
            "status":{"addresses":[{"type":"InternalIP","address":")" +
                                            address + R"("}]}})")
                      .code,
                  201);
    }
    std::string sample(const std::string& family, const std::string& pod, double value) {
        const auto now = loop.wall_now().time_since_epoch() / 1ms;
        const std::string labels = pod.empty() ? "" : R"({container="c",namespace="default",pod=")" + pod + "\"}";
        return family + labels + " " + std::to_string(value) + " " + std::to_string(now) + "\n";
    }
    /// What a kubelet tells now: its node and one pod have used so many seconds of a processor.
    std::string told(double node, double pod, const std::string& name = "p") {
        return sample("node_cpu_usage_seconds_total", "", node) + sample("node_memory_working_set_bytes", "", 1 << 30) +
               sample("container_cpu_usage_seconds_total", name, pod) + sample("container_memory_working_set_bytes", name, 4096);
    }
    /// Two rounds: the node uses a whole processor, the pod a tenth.
    void measure() {
        get(std::string(Metrics) + "/nodes");  // so that it is not idle
        for (int round = 1; round <= 3; ++round) {
            kubelets.texts["10.0.0.1"] = told(100 + 15 * round, 10 + 1.5 * round);
            loop.advance(ResourceMetrics::Resolution);
        }
    }
    FakeKubelets kubelets{loop};
};

TEST_F(ResourceMetricsTest, NodesShowTheirUseBetweenTwoSamples) {
    measure();
    const Answer node = get(std::string(Metrics) + "/nodes/n1");
    EXPECT_EQ(node.code, 200);
    EXPECT_EQ(node.at({"kind"}), "NodeMetrics");
    EXPECT_EQ(node.at({"apiVersion"}), "metrics.k8s.io/v1beta1");
    EXPECT_EQ(node.at({"usage", "cpu"}), "1");
    EXPECT_EQ(node.at({"usage", "memory"}), "1Gi");
    EXPECT_EQ(node.at({"window"}), "15s");
    EXPECT_EQ(node.at({"metadata", "labels", "zone"}), "z");
    EXPECT_FALSE(node.at({"timestamp"}).empty());
}

TEST_F(ResourceMetricsTest, PodsShowTheirContainers) {
    measure();
    const Answer pod = get(std::string(Metrics) + "/namespaces/default/pods/p");
    EXPECT_EQ(pod.code, 200);
    EXPECT_EQ(pod.at({"metadata", "namespace"}), "default");
    EXPECT_EQ(pod.at({"metadata", "labels", "app"}), "web");
    const schema::Value& container = pod.body.find("containers")->as_array().at(0);
    EXPECT_EQ(container.string_at({"name"}), "c");
    EXPECT_EQ(container.string_at({"usage", "cpu"}), "100m");
    EXPECT_EQ(container.string_at({"usage", "memory"}), "4Ki");
    const Answer encoded = call("GET", std::string(Metrics) + "/pods", "", "", "application/vnd.kubernetes.protobuf");
    EXPECT_EQ(encoded.code, 200);
    EXPECT_TRUE(encoded.text.starts_with("k8s"));
}

TEST_F(ResourceMetricsTest, ListsTakeSelectors) {
    measure();
    post("/api/v1/namespaces/default/pods", pod("q", R"(,"nodeName":"n1")"));
    const auto count = [&](const std::string& query) {
        const Answer list = get(std::string(Metrics) + "/pods" + query);
        EXPECT_EQ(list.code, 200) << list.text;
        EXPECT_EQ(list.at({"kind"}), "PodMetricsList");
        return list.body.find("items")->as_array().size();
    };
    EXPECT_EQ(count(""), 1u) << "q has no samples";
    EXPECT_EQ(count("?labelSelector=app%3Dweb"), 1u);
    EXPECT_EQ(count("?labelSelector=app%21%3Dweb"), 0u);
    EXPECT_EQ(count("?fieldSelector=metadata.name%3Dp"), 1u);
    EXPECT_EQ(count("?fieldSelector=metadata.namespace%3Dother"), 0u);
    const Answer refused = get(std::string(Metrics) + "/pods?fieldSelector=spec.nodeName%3Dn1");
    EXPECT_EQ(refused.code, 400);
    EXPECT_EQ(refused.at({"message"}), R"("spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace")");
}

TEST_F(ResourceMetricsTest, WhatHasNoSamplesIsNotFoundByTheWordsOfMetricsServer) {
    const Answer known = get(std::string(Metrics) + "/namespaces/default/pods/p");
    EXPECT_EQ(known.code, 404);
    EXPECT_EQ(known.at({"message"}), R"(podmetrics.metrics.k8s.io "default/p" not found)");
    EXPECT_EQ(get(std::string(Metrics) + "/namespaces/default/pods/x").at({"message"}), R"(pods "x" not found)");
    EXPECT_EQ(get(std::string(Metrics) + "/nodes/n1").at({"message"}), R"(nodemetrics.metrics.k8s.io "n1" not found)");
    EXPECT_EQ(get(std::string(Metrics) + "/nodes/x").at({"message"}), R"(nodes "x" not found)");
}

TEST_F(ResourceMetricsTest, OnlyGetAndListAreServed) {
    EXPECT_EQ(get(std::string(Metrics) + "/pods?watch=true").code, 405);
    EXPECT_EQ(post(std::string(Metrics) + "/nodes", "{}").code, 405);
    EXPECT_EQ(remove(std::string(Metrics) + "/nodes/n1").code, 405);
    EXPECT_EQ(get(std::string(Metrics) + "/pods/p").code, 405) << "a pod is in a namespace";
    const Answer discovered = get(Metrics);
    const schema::Array& resources = discovered.body.find("resources")->as_array();
    ASSERT_EQ(resources.size(), 2u);
    EXPECT_EQ(resources[0].string_at({"name"}), "nodes");
    EXPECT_EQ(resources[0].string_at({"singularName"}), "");
    EXPECT_EQ(resources[0].string_at({"kind"}), "NodeMetrics");
    EXPECT_EQ(resources[1].string_at({"kind"}), "PodMetrics");
    EXPECT_EQ(resources[1].find("verbs")->as_array().size(), 2u);
}

TEST_F(ResourceMetricsTest, TablesHaveTheColumnsOfMetricsServer) {
    measure();
    for (const char* path : {"/nodes", "/pods"}) {
        const Answer table = call("GET", std::string(Metrics) + path, "", "", Table);
        std::string names, cells;
        for (const schema::Value& column : table.body.find("columnDefinitions")->as_array())
            names += std::string(column.string_at({"name"})) + " ";
        EXPECT_EQ(names, "Name cpu memory Window ");
        const schema::Array& rows = table.body.find("rows")->as_array();
        ASSERT_EQ(rows.size(), 1u);
        for (const schema::Value& cell : rows[0].find("cells")->as_array()) cells += std::string(cell.string_or("?")) + " ";
        EXPECT_EQ(cells, std::string(path) == "/nodes" ? "n1 1 1Gi 15s " : "p 100m 4Ki 15s ");
    }
}

TEST_F(ResourceMetricsTest, AKubeletIsBelievedAboutItsOwnPodsOnly) {
    post("/api/v1/namespaces/default/pods", pod("elsewhere", R"(,"nodeName":"n2")"));
    get(std::string(Metrics) + "/nodes");
    for (int round = 0; round < 3; ++round) {
        kubelets.texts["10.0.0.1"] = told(100 + round, 10 + round) + told(100 + round, 10 + round, "elsewhere") + told(1, 1, "unknown");
        loop.advance(ResourceMetrics::Resolution);
    }
    EXPECT_EQ(get(std::string(Metrics) + "/namespaces/default/pods/p").code, 200);
    EXPECT_EQ(get(std::string(Metrics) + "/namespaces/default/pods/elsewhere").code, 404);
}

TEST_F(ResourceMetricsTest, APodHasNoEndlessContainers) {
    get(std::string(Metrics) + "/nodes");
    for (int round = 1; round <= 3; ++round) {
        std::string text = told(100 + round, 10 + round);
        for (std::size_t i = 0; i < ResourceMetrics::ContainersOfPod; ++i) {
            const std::string labels = "{container=\"c" + std::to_string(i) + "\",namespace=\"default\",pod=\"p\"} ";
            text += "container_cpu_usage_seconds_total" + labels + "1\ncontainer_memory_working_set_bytes" + labels + "1\n";
        }
        kubelets.texts["10.0.0.1"] = std::move(text);
        loop.advance(ResourceMetrics::Resolution);
    }
    EXPECT_EQ(get(std::string(Metrics) + "/nodes/n1").code, 200);
    EXPECT_EQ(get(std::string(Metrics) + "/namespaces/default/pods/p").code, 404);
}

TEST_F(ResourceMetricsTest, AKubeletThatHangsOrLiesCostsTheOthersNothing) {
    for (const char* address : {"10.0.0.2", "10.0.0.3", "10.0.0.4"}) add_node("n" + std::string(address).substr(7), address);
    kubelets.slow.insert("10.0.0.2");
    kubelets.texts["10.0.0.3"] = "<html>";
    kubelets.texts["10.0.0.4"] = std::string(ResourceMetrics::AnswerBytes + 1, '\n');
    get(std::string(Metrics) + "/nodes");
    for (int round = 1; round <= 6; ++round) {
        kubelets.texts["10.0.0.1"] = told(100 + round, 10 + round);
        loop.advance(ResourceMetrics::Resolution);
    }
    EXPECT_EQ(get(std::string(Metrics) + "/nodes").body.find("items")->as_array().size(), 1u);
}

TEST_F(ResourceMetricsTest, KubeletsAreAskedAFewAtATimeAndSeldomWhileNobodyAsks) {
    constexpr int Nodes = 2 * static_cast<int>(ResourceMetrics::KubeletsAtOnce) + 1;
    for (int i = 2; i <= Nodes; ++i) add_node("m" + std::to_string(i), "10.0.1." + std::to_string(i));
    kubelets.asked = 0;
    get(std::string(Metrics) + "/nodes");
    loop.advance(ResourceMetrics::IdleAfter);
    EXPECT_GT(kubelets.asked, 18 * Nodes);
    EXPECT_EQ(kubelets.most_at_once, static_cast<int>(ResourceMetrics::KubeletsAtOnce));
    loop.advance(1min);
    kubelets.asked = 0;
    loop.advance(10min);
    EXPECT_LE(kubelets.asked, 11 * Nodes);
    EXPECT_GE(kubelets.asked, 9 * Nodes) << "so that the first to ask gets an answer";
}

}  // namespace
}  // namespace porthole::apiserver
