// What the scheduler costs for a pod: the decision alone, and from its start to the last binding through the API server's handlers, without
// sockets and without a disk. Everything runs on one loop, so the processor time of a pod is that of API server and scheduler together.
// Under valgrind --tool=callgrind --instr-atstart=no the instructions of a pod can be compared on a busy machine too.
#include <benchmark/benchmark.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include "apiserver/api_server.h"
#include "apiserver/example_options.h"
#include "apiserver/local_clients.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "scheduler/framework/convert.h"
#include "scheduler/scheduler.h"
#include "store/memory/memory_engine.h"

namespace porthole::scheduler {
namespace {

namespace core = api::core::v1;

Quantity quantity(const char* text) { return Quantity::parse(text).value(); }

core::Node node(int number) {
    core::Node node;
    node.metadata.name = "node-" + std::to_string(number);
    node.metadata.labels = {{"kubernetes.io/hostname", node.metadata.name},
                            {"kubernetes.io/os", "linux"},
                            {"kubernetes.io/arch", "amd64"},
                            {"beta.kubernetes.io/os", "linux"},
                            {"topology.kubernetes.io/zone", "zone-" + std::to_string(number % 3)}};
    node.status.allocatable = {{"cpu", quantity("32")}, {"memory", quantity("256Gi")}, {"pods", quantity("110")}};
    node.status.capacity = node.status.allocatable;
    return node;
}

core::Pod pod(int number) {
    core::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = "pod-" + std::to_string(number);
    pod.metadata.labels = {{"app", "web"}};
    core::Container& container = pod.spec.containers.emplace_back();
    container.name = "main";
    container.image = "example.com/program:1";
    container.resources.requests = {{"cpu", quantity("100m")}, {"memory", quantity("64Mi")}};
    return pod;
}

/// A control plane of an API server and a scheduler, which has not started.
class BenchCluster {
public:
    BenchCluster(int nodes, int pods) {
        auto opened = apiserver::ApiServer::open({loop_, pool_, random_, log_}, std::make_unique<store::MemoryEngine>(disk_),
                                                 apiserver::example_options());
        CHECK(opened.has_value());
        api_ = std::move(*opened);
        CHECK(run(api_->start()).has_value());
        admin_ = api_->transport(apiserver::loopback_user(), "bench");
        client::Client client(*admin_);
        core::ServiceAccount account;
        account.metadata.namespace_ = "default";
        account.metadata.name = "default";
        CHECK(run(client.create(account)).has_value());
        for (int i = 0; i < nodes; ++i) {
            CHECK(run(client.create(node(i))).has_value());
            // As the node controller does once the node is ready.
            const client::NamespacedName key{"", "node-" + std::to_string(i)};
            CHECK(run(client.patch<core::Node>(key, client::PatchType::Merge, R"({"spec":{"taints":null}})")).has_value());
        }
        for (int i = 0; i < pods; ++i) CHECK(run(client.create(pod(i))).has_value());
        clients_.emplace(*api_, "kube-scheduler");
        client::Client& own = clients_->of();
        informers_ = std::make_unique<client::Informers>(client::InformerContext{loop_, own, random_, log_});
        events_ = std::make_unique<client::EventRecorder>(loop_, own, log_, "default-scheduler");
        scheduler_ = std::make_unique<Scheduler>(SchedulerContext{loop_, own, *informers_, *events_, random_, log_});
    }
    ~BenchCluster() {
        CHECK(run(scope_.close()).has_value());
        CHECK(run(informers_->close()).has_value());
        scheduler_.reset();
        CHECK(run(clients_->close()).has_value());
        CHECK(run(admin_->close()).has_value());
        CHECK(run(api_->close()).has_value());
    }

    void schedule(std::uint64_t pods) {
        informers_->start();
        scope_.spawn(events_->run());
        scope_.spawn(scheduler_->run());
        CHECK(loop_.run_until([&] { return scheduler_->counts().scheduled == pods; }, std::chrono::minutes(10)));
    }

private:
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop_, std::move(task));
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    SeededRandom random_{7};
    Logger log_{make_null_sink(), "bench"};
    store::MemoryDisk disk_;
    std::unique_ptr<apiserver::ApiServer> api_;
    std::unique_ptr<apiserver::LocalTransport> admin_;
    std::optional<apiserver::LocalClients> clients_;
    std::unique_ptr<client::Informers> informers_;
    std::unique_ptr<client::EventRecorder> events_;
    std::unique_ptr<Scheduler> scheduler_;
    Scope scope_{loop_};
};

/// From the scheduler's start to the last binding; the pods exist beforehand.
void schedule(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        auto cluster = std::make_unique<BenchCluster>(state.range(0), state.range(1));
        state.ResumeTiming();
        CALLGRIND_START_INSTRUMENTATION;
        cluster->schedule(static_cast<std::uint64_t>(state.range(1)));
        CALLGRIND_STOP_INSTRUMENTATION;
        state.PauseTiming();
        cluster.reset();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.range(1));
}

BENCHMARK(schedule)
    ->ArgNames({"nodes", "pods"})
    ->Args({5000, 1000})
    ->Args({5000, 10000})
    ->Args({50000, 10000})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace porthole::scheduler

BENCHMARK_MAIN();
