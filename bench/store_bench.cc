// What the store does alone: durable creates with many in flight, reads, and the fan-out of watch events.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "store/embedded/embedded_engine.h"
#include "store/store.h"

namespace porthole::store {
namespace {

/// A store on a real disk, under the folder that TMPDIR names.
class RealStore {
public:
    RealStore() {
        const char* folder = std::getenv("TMPDIR");
        std::string name = std::string(folder ? folder : "/var/tmp") + "/store-bench-XXXXXX";
        directory_ = ::mkdtemp(name.data());
        auto engine = open_embedded_engine(directory_);
        CHECK(engine.has_value());
        auto store = Store::open({loop_, *pool_, Logger(make_null_sink(), "store")}, std::move(*engine), {}, {});
        CHECK(store.has_value());
        store_ = std::move(*store);
    }
    ~RealStore() {
        run(store_->close());
        store_.reset();
        std::filesystem::remove_all(directory_);
    }

    void run(Task<> task) { CHECK(run_task(loop_, std::move(task)).has_value()); }
    Store& store() { return *store_; }
    AsioLoop& loop() { return loop_; }

private:
    AsioLoop loop_;
    std::unique_ptr<WorkerPool> pool_ = make_thread_pool(2);
    std::string directory_;
    std::unique_ptr<Store> store_;
};

Transaction create(const std::string& key, std::size_t bytes) {
    Transaction transaction;
    transaction.guards.push_back(Guard::absent(key));
    transaction.operations.push_back(Put{.key = key, .value = std::string(bytes, 'x'), .revision_at = 20});
    return transaction;
}

Task<> create_many(Store& store, int first, int count, std::size_t bytes) {
    for (int i = first; i < first + count; ++i) {
        CO_TRY_VOID(co_await store.commit(create("/registry/pods/default/pod-" + std::to_string(i), bytes)));
    }
    co_return {};
}

Task<> create_in_flight(Store& store, int first, int writers, int each) {
    std::vector<Task<>> tasks;
    for (int i = 0; i < writers; ++i) tasks.push_back(create_many(store, first + i * each, each, 2048));
    AllOperation<void> all(std::move(tasks));
    CO_TRY(const auto results, co_await all);
    for (const Result<void>& result : results) CO_TRY_VOID(result);
    co_return {};
}

void BM_Create(benchmark::State& state) {
    RealStore real;
    const int writers = static_cast<int>(state.range(0)), each = 4000 / writers;
    int next = 0;
    for (auto _ : state) {
        real.run(create_in_flight(real.store(), next, writers, each));
        next += writers * each;
    }
    state.SetItemsProcessed(next);
}
BENCHMARK(BM_Create)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

Task<> drain(Watch& watch, std::size_t events) {
    for (std::size_t seen = 0; seen < events;) {
        CO_TRY(const auto batch, co_await watch.next());
        seen += batch.size();
    }
    co_return {};
}

Task<> write_and_watch(Store& store, std::vector<Watch>& watches, int first, int count) {
    std::vector<Task<>> tasks;
    for (Watch& watch : watches) tasks.push_back(drain(watch, static_cast<std::size_t>(count)));
    tasks.push_back(create_in_flight(store, first, 64, count / 64));
    AllOperation<void> all(std::move(tasks));
    CO_TRY_VOID(co_await all);
    co_return {};
}

void BM_WatchFanOut(benchmark::State& state) {
    RealStore real;
    std::vector<Watch> watches;
    for (int i = 0; i < state.range(0); ++i) watches.push_back(std::move(*real.store().watch({.prefix = "/registry/pods/"})));
    constexpr int Events = 1280;
    int next = 0;
    for (auto _ : state) {
        real.run(write_and_watch(real.store(), watches, next, Events));
        next += Events;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(next) * state.range(0));
}
BENCHMARK(BM_WatchFanOut)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_List(benchmark::State& state) {
    RealStore real;
    real.run(create_in_flight(real.store(), 0, 50, 100));
    for (auto _ : state) benchmark::DoNotOptimize(real.store().range({.prefix = "/registry/pods/"}));
    state.SetItemsProcessed(state.iterations() * 5000);
}
BENCHMARK(BM_List)->Unit(benchmark::kMicrosecond);

void BM_Get(benchmark::State& state) {
    RealStore real;
    real.run(create_in_flight(real.store(), 0, 50, 100));
    int i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(real.store().get("/registry/pods/default/pod-" + std::to_string(i++ % 5000)));
}
BENCHMARK(BM_Get);

}  // namespace
}  // namespace porthole::store

BENCHMARK_MAIN();
