// What the API server's handlers cost alone, without sockets and without a disk: requests of a service account, one at a time.
// Under valgrind --tool=callgrind the instructions of a request can be compared on a busy machine too.
#include <benchmark/benchmark.h>

#include "apiserver/example_options.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "store/memory/memory_engine.h"

namespace porthole::apiserver {
namespace {

/// Gives the request's body when it is asked for, and keeps the answer's code and body.
class Answer final : public net::HttpResponder {
public:
    explicit Answer(std::string request_body) : request_body_(std::move(request_body)) {}
    Task<std::string> read_body() override { co_return std::move(request_body_); }
    Task<> respond(int code, net::Headers, std::vector<net::Bytes> body) override {
        code_ = code;
        body_ = std::move(body);
        co_return {};
    }
    Task<> start(int, net::Headers) override { co_return Error(Reason::InternalError, "no streams here"); }
    Task<> write(net::Bytes) override { co_return {}; }
    Task<> finish(net::Headers) override { co_return {}; }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override { co_return Error(Reason::BadRequest, "no streams here"); }
    bool started() const override { return code_ != 0; }

    int code() const { return code_; }
    std::string text() const {
        std::string whole;
        for (const net::Bytes& part : body_) whole += *part;
        return whole;
    }

private:
    std::string request_body_;
    int code_ = 0;
    std::vector<net::Bytes> body_;
};

/// Takes audit events and forgets them.
class NoBackend final : public AuditBackend {
    void add(const std::string& event) override { benchmark::DoNotOptimize(event.size()); }
    std::vector<Lost> lost() const override { return {}; }
};

class BenchServer {
public:
    /// `audited`: by the built-in policy.
    explicit BenchServer(bool audited = false) {
        ApiServerOptions options = example_options();
        if (audited) options.audit = &auditor_;
        auto opened = ApiServer::open({loop_, pool_, random_, Logger(make_null_sink(), "bench")},
                                      std::make_unique<store::MemoryEngine>(disk_), std::move(options));
        CHECK(opened.has_value());
        api_ = std::move(*opened);
        CHECK(sim::run(loop_, api_->start()).has_value());
        sign_in();
    }
    ~BenchServer() { CHECK(sim::run(loop_, api_->close()).has_value()); }

    std::string call(std::string method, std::string path, std::string body, const std::string& accept = "application/json") {
        net::HttpRequest request{.method = std::move(method), .path = std::move(path), .body = std::move(body)};
        request.headers = {{"host", "10.96.0.1"}, {"accept", accept}, {"user-agent", "bench/1.0"}};
        if (!request.body.empty()) request.headers.add("content-type", "application/json");
        Answer answer(request.body);
        if (token_.empty()) {
            CHECK(sim::run(loop_, api_->server().handle_as(loopback_user(), std::move(request), answer)).has_value());
        } else {
            request.headers.add("authorization", "Bearer " + token_);
            CHECK(sim::run(loop_, api_->server().handle(std::move(request), answer)).has_value());
        }
        CHECK(answer.code() / 100 == 2);
        return answer.text();
    }

    /// Adds a custom resource, and waits until it is served.
    void define(const std::string& definition) {
        const std::string token = std::exchange(token_, "");
        call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
        wait(std::chrono::milliseconds(10));
        token_ = token;
    }
    /// Of the simulated clock.
    void wait(Duration duration) { CHECK(sim::run(loop_, loop_.sleep(duration)).has_value()); }

private:
    void sign_in() {
        call("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"bench"}})");
        call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             R"({"metadata":{"name":"bench"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
                 "subjects":[{"kind":"ServiceAccount","name":"bench","namespace":"default"}]})");
        const auto answer = schema::parse_json(call("POST", "/api/v1/namespaces/default/serviceaccounts/bench/token", R"({"spec":{}})"));
        token_ = answer->string_at({"status", "token"});
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    SeededRandom random_{7};
    store::MemoryDisk disk_;
    NoBackend backend_;
    Auditor auditor_{AuditPolicy::built_in(), {&backend_}};
    std::unique_ptr<ApiServer> api_;
    std::string token_;
};

const std::string ConfigMapBody =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"bench-"},"data":{"text":")" + std::string(1700, 'x') + R"("}})";
const std::string PodBody = R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"bench-","labels":{"app":"bench"}},
    "spec":{"containers":[{"name":"c","image":"example.com/program:1","resources":{"requests":{"cpu":"10m","memory":"16Mi"}}}]}})";

/// A custom resource with the kinds of fields that most have, and an object of it as large as ConfigMapBody.
std::string widget_definition(const std::string& rules) {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{
    "group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
    "subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["parts"],)" +
           rules + R"("properties":{
    "text":{"type":"string"},"size":{"type":"integer","minimum":1,"default":3},"parts":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","pattern":"^[a-z0-9]+$"},
    "weight":{"type":"integer"},"mode":{"type":"string","enum":["fast","slow"],"default":"fast"}}}}}}}}}}]}})";
}
const std::string WidgetDefinition = widget_definition("");
const std::string WidgetDefinitionWithRules = widget_definition(R"x("x-kubernetes-validations":[{"rule":"self.size <= 100"},
    {"rule":"self.size >= 1"},{"rule":"self.size != 50"},{"rule":"self.size + 1 > 1"},{"rule":"has(self.text)"}],)x");
std::string widget_body() {
    std::string parts;
    for (int i = 0; i < 4; ++i)
        parts += (i ? "," : "") + std::string(R"({"name":"part)") + std::to_string(i) + R"(","weight":7,"mode":"slow"})";
    return R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"bench-"},"spec":{"parts":[)" + parts +
           R"(],"text":")" + std::string(1520, 'x') + R"("}})";
}
const std::string WidgetBody = widget_body();

void create(benchmark::State& state, const std::string& path, const std::string& body, bool audited, const std::string& definition = "") {
    BenchServer server(audited);
    if (!definition.empty()) server.define(definition);
    server.call("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    for (auto _ : state) server.call("POST", path, body);
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(create, config_map, "/api/v1/namespaces/default/configmaps", ConfigMapBody, false)->Iterations(4000);
BENCHMARK_CAPTURE(create, pod, "/api/v1/namespaces/default/pods", PodBody, false)->Iterations(2000);
const std::string Widgets = "/apis/example.com/v1/namespaces/default/widgets";
BENCHMARK_CAPTURE(create, custom_resource, Widgets, WidgetBody, false, WidgetDefinition)->Iterations(4000);
BENCHMARK_CAPTURE(create, custom_resource_with_five_rules, Widgets, WidgetBody, false, WidgetDefinitionWithRules)->Iterations(4000);
BENCHMARK_CAPTURE(create, config_map_audited, "/api/v1/namespaces/default/configmaps", ConfigMapBody, true)->Iterations(4000);
BENCHMARK_CAPTURE(create, pod_audited, "/api/v1/namespaces/default/pods", PodBody, true)->Iterations(2000);

void get(benchmark::State& state, bool audited) {
    BenchServer server(audited);
    for (auto _ : state) server.call("GET", "/api/v1/namespaces/kube-system", "");
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(get, plain, false)->Iterations(4000);
BENCHMARK_CAPTURE(get, audited, true)->Iterations(4000);

/// All groups in one document, as kubectl asks for it, with 500 custom resources: `changed` after a change of one of them.
void discovery(benchmark::State& state, bool changed) {
    BenchServer server;
    const auto define = [&](const std::string& name) {
        std::string definition = WidgetDefinition;
        for (std::size_t at; (at = definition.find("idget")) != std::string::npos;) definition.replace(at, 5, name);
        server.define(definition);
    };
    for (int i = 0; i < 500; ++i) define("ares" + std::to_string(i) + "x");
    int added = 0;
    for (auto _ : state) {
        if (changed) {
            state.PauseTiming();
            define("ots" + std::to_string(++added) + "x");
            state.ResumeTiming();
        }
        server.call("GET", "/apis", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    }
}
BENCHMARK_CAPTURE(discovery, unchanged, false)->Iterations(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(discovery, changed, true)->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace porthole::apiserver

BENCHMARK_MAIN();
