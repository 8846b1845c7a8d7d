// What the scheduler costs for a pod, from its start to the last binding, through the API server's handlers and without sockets.
//
// BM_OneLoop runs everything on one simulated loop, with a store in memory: the processor time of a pod is that of API server and scheduler
// together. Under valgrind --tool=callgrind --instr-atstart=no its instructions can be compared on a busy machine too.
// BM_Threads is as in the server: a thread for the API, one for the scheduler, and a store on a real disk, under the folder that TMPDIR
// names.
#include <benchmark/benchmark.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include <cstdlib>
#include <filesystem>

#include "apiserver/api_server.h"
#include "apiserver/example_options.h"
#include "apiserver/local_clients.h"
#include "runtime/component_thread.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "scheduler/scheduler.h"
#include "store/embedded/embedded_engine.h"
#include "store/memory/memory_engine.h"

namespace porthole::scheduler {
namespace {

namespace core = api::core::v1;

constexpr int InFlight = 64;

Logger quiet() { return Logger(make_null_sink(), "bench"); }

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

Task<> create_some(client::Client& client, int first, int nodes, int pods) {
    for (int i = first; i < nodes; i += InFlight) {
        CO_TRY_VOID(co_await client.create(node(i)));
        // As the node controller does once the node is ready.
        const client::NamespacedName key{"", "node-" + std::to_string(i)};
        CO_TRY_VOID(co_await client.patch<core::Node>(key, client::PatchType::Merge, R"({"spec":{"taints":null}})"));
    }
    for (int i = first; i < pods; i += InFlight) CO_TRY_VOID(co_await client.create(pod(i)));
    co_return {};
}

/// Nodes that are ready, and pods that nobody has scheduled.
Task<> fill(client::Client& client, int nodes, int pods) {
    core::ServiceAccount account;
    account.metadata.namespace_ = account.metadata.name = "default";
    CO_TRY_VOID(co_await client.create(account));
    std::vector<Task<>> tasks;
    for (int i = 0; i < InFlight; ++i) tasks.push_back(create_some(client, i, nodes, pods));
    AllOperation<void> all(std::move(tasks));
    CO_TRY(const auto results, co_await all);
    for (const Result<void>& result : results) CO_TRY_VOID(result);
    co_return {};
}

/// The scheduler with what it needs, on one loop.
struct SchedulerProcess {
    SchedulerProcess(EventLoop& loop, client::Client& client)
        : informers({loop, client, random, quiet()}),
          events(loop, client, quiet(), "default-scheduler"),
          scheduler({loop, client, informers, events, random, quiet()}),
          scope(loop) {}
    void start() {
        informers.start();
        scope.spawn(events.run());
        scope.spawn(scheduler.run());
    }
    Task<> close() {
        CO_TRY_VOID(co_await scope.close());
        co_return co_await informers.close();
    }

    SeededRandom random{7};
    client::Informers informers;
    client::EventRecorder events;
    Scheduler scheduler;
    Scope scope;
};

/// An API server with nodes and pods, and the scheduler's way to it.
struct ControlPlane {
    ControlPlane(const apiserver::ApiServer::Seams& seams, std::unique_ptr<store::Engine> engine) {
        auto opened = apiserver::ApiServer::open(seams, std::move(engine), apiserver::example_options());
        CHECK(opened.has_value());
        api = std::move(*opened);
    }
    Task<> start(int nodes, int pods) {
        CO_TRY_VOID(co_await api->start());
        admin = api->transport(apiserver::loopback_user(), "bench");
        client::Client client(*admin);
        CO_TRY_VOID(co_await fill(client, nodes, pods));
        clients.emplace(*api, "kube-scheduler");
        co_return {};
    }
    Task<> close() {
        CO_TRY_VOID(co_await clients->close());
        CO_TRY_VOID(co_await admin->close());
        co_return co_await api->close();
    }

    std::unique_ptr<apiserver::ApiServer> api;
    std::unique_ptr<apiserver::LocalTransport> admin;
    std::optional<apiserver::LocalClients> clients;
};

class OneLoop {
public:
    OneLoop(int nodes, int pods) {
        CHECK(sim::run(loop_, control_plane_.start(nodes, pods)).has_value());
        process_ = std::make_unique<SchedulerProcess>(loop_, control_plane_.clients->of());
    }
    ~OneLoop() {
        CHECK(sim::run(loop_, process_->close()).has_value());
        process_.reset();
        CHECK(sim::run(loop_, control_plane_.close()).has_value());
    }
    void schedule(std::uint64_t pods) {
        CALLGRIND_START_INSTRUMENTATION;
        process_->start();
        CHECK(loop_.run_until([&] { return process_->scheduler.counts().scheduled == pods; }, std::chrono::minutes(10)));
        CALLGRIND_STOP_INSTRUMENTATION;
    }

private:
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    SeededRandom random_{7};
    store::MemoryDisk disk_;
    ControlPlane control_plane_{{loop_, pool_, random_, quiet()}, std::make_unique<store::MemoryEngine>(disk_)};
    std::unique_ptr<SchedulerProcess> process_;
};

class Threads {
public:
    Threads(int nodes, int pods) {
        auto engine = store::open_embedded_engine(directory_);
        CHECK(engine.has_value());
        control_plane_.emplace(apiserver::ApiServer::Seams{loop_, *pool_, random_, quiet()}, std::move(*engine));
        run(control_plane_->start(nodes, pods));
        client::Client& client = control_plane_->clients->of();
        run_on_thread([&]() -> Task<> {
            process_ = std::make_unique<SchedulerProcess>(thread_.loop(), client);
            co_return {};
        });
    }
    ~Threads() {
        run_on_thread([&]() -> Task<> {
            CO_TRY_VOID(co_await process_->close());
            process_.reset();
            co_return {};
        });
        run(control_plane_->close());
        control_plane_.reset();
        std::filesystem::remove_all(directory_);
    }
    void schedule(std::uint64_t pods) {
        run_on_thread([&]() -> Task<> {
            process_->start();
            while (process_->scheduler.counts().scheduled < pods) CO_TRY_VOID(co_await thread_.loop().sleep(std::chrono::milliseconds(2)));
            co_return {};
        });
    }

private:
    static std::string make_directory() {
        const char* folder = std::getenv("TMPDIR");
        std::string name = std::string(folder ? folder : "/var/tmp") + "/scheduler-bench-XXXXXX";
        CHECK(::mkdtemp(name.data()));
        return name;
    }
    void run(Task<> task) { CHECK(run_task(loop_, std::move(task)).has_value()); }
    void run_on_thread(std::function<Task<>()> task) { run(thread_.run(std::move(task))); }

    AsioLoop loop_;
    std::unique_ptr<WorkerPool> pool_ = make_thread_pool(2);
    SystemRandom random_;
    std::string directory_ = make_directory();
    std::optional<ControlPlane> control_plane_;
    ComponentThread thread_;
    std::unique_ptr<SchedulerProcess> process_;
};

template <class Cluster>
void schedule(benchmark::State& state) {
    const int nodes = static_cast<int>(state.range(0)), pods = static_cast<int>(state.range(1));
    for (auto _ : state) {
        state.PauseTiming();
        auto cluster = std::make_unique<Cluster>(nodes, pods);
        state.ResumeTiming();
        cluster->schedule(static_cast<std::uint64_t>(pods));
        state.PauseTiming();
        cluster.reset();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(pods);
}

void BM_OneLoop(benchmark::State& state) { schedule<OneLoop>(state); }
BENCHMARK(BM_OneLoop)
    ->ArgNames({"nodes", "pods"})
    ->Args({5000, 1000})
    ->Args({5000, 10000})
    ->Args({50000, 10000})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_Threads(benchmark::State& state) { schedule<Threads>(state); }
BENCHMARK(BM_Threads)
    ->ArgNames({"nodes", "pods"})
    ->Args({5000, 10000})
    ->Args({50000, 10000})
    ->Iterations(1)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace porthole::scheduler

BENCHMARK_MAIN();
