// What is written to disk together is bounded, so that the wait for one sync stays short.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/store.h"

namespace porthole::store {
namespace {

/// Notes how many transactions and bytes are appended at a time.
struct CountingEngine final : Engine {
    struct Sizes {
        std::vector<std::size_t> transactions, bytes;
    };
    explicit CountingEngine(Sizes& sizes) : sizes_(sizes) {}
    Result<Revision> load(const std::function<void(Row)>&) override { return Revision(); }
    Result<void> append(std::span<const Commit> commits) override {
        sizes_.transactions.push_back(commits.size());
        std::size_t bytes = 0;
        for (const Commit& commit : commits) bytes += commit.rows.front().value.size();
        sizes_.bytes.push_back(bytes);
        return {};
    }
    Result<void> compact(Revision, std::span<const Row>) override { return {}; }
    void close() override {}
    Sizes& sizes_;
};

/// What is appended at a time when `count` values of `bytes` wait.
CountingEngine::Sizes groups_of(int count, std::size_t bytes) {
    CountingEngine::Sizes sizes;
    sim::SimLoop loop;
    sim::SimWorkerPool pool(loop);
    auto store = Store::open({loop, pool, Logger(make_null_sink(), "store")}, std::make_unique<CountingEngine>(sizes), {}, {});
    CHECK(store.has_value());
    const auto put = [](Store& into, std::string key, std::size_t length) -> Task<> {
        CO_TRY_VOID(co_await into.commit({{}, {Put{.key = std::move(key), .value = std::string(length, 'x')}}}));
        co_return {};
    };
    Scope scope(loop);
    for (int i = 0; i < count; ++i) scope.spawn(put(**store, "/" + std::to_string(i), bytes));
    loop.run_ready();
    CHECK(sim::run(loop, scope.close()).has_value());
    CHECK(sim::run(loop, (*store)->close()).has_value());
    return sizes;
}

TEST(Groups, HoldAtMost512Transactions) {
    const auto sizes = groups_of(2000, 10);
    EXPECT_EQ(std::ranges::max(sizes.transactions), 512u);
}

TEST(Groups, EndWithTheTransactionThatReaches4MiB) {
    const auto sizes = groups_of(50, 1 << 20);
    EXPECT_EQ(std::ranges::max(sizes.bytes), 4u << 20);
}

}  // namespace
}  // namespace porthole::store
