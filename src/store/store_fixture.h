#pragma once
#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/memory/memory_engine.h"
#include "store/store.h"

namespace porthole::store {

using namespace std::chrono_literals;

/// The part of a value before ";" is its topic.
struct TestAttributes final : Attributes {
    explicit TestAttributes(std::string_view value) : first(value.substr(0, value.find(';'))) {}
    std::string_view topic() const override { return first; }
    std::string first;
};

/// The storage of the store under test, and its faults. A test program links one of *_backing_fixture.cc.
class StoreBacking {
public:
    virtual ~StoreBacking() = default;
    virtual Result<std::unique_ptr<Store>> open(Store::Seams seams, AttributesOf attributes_of, const Store::Options& options) = 0;
    /// A disturbance that a few writes may notice, at most.
    virtual void disturb(Random& random) = 0;
    /// Called while no store is open.
    virtual void crash(Random& random) = 0;
};
std::unique_ptr<StoreBacking> make_store_backing(sim::SimLoop& loop, MemoryDisk& disk);

/// A store on a simulated loop, for tests. `disk_` is its disk if the backing is one.
class StoreTest : public testing::Test {
protected:
    void SetUp() override { open(); }
    void TearDown() override {
        if (store_) close();
    }

    void open() {
        const AttributesOf attributes_of = [](std::string_view, std::string_view value) { return std::make_shared<TestAttributes>(value); };
        Store::Seams seams{loop_, pool_, Logger(make_null_sink(), "store")};
        auto opened = backing_->open(std::move(seams), attributes_of, options_);
        ASSERT_TRUE(opened) << opened.error().message;
        store_ = std::move(*opened);
    }
    void close() {
        ASSERT_TRUE(sim::run(loop_, store_->close()));
        loop_.run_ready();
        store_.reset();
    }
    void reopen() {
        close();
        open();
    }

    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop_, std::move(task));
    }
    static Put put_of(std::string key, std::string value, LeaseId lease = {}) {
        Put put;
        put.key = std::move(key);
        put.value = std::move(value);
        put.lease = lease;
        return put;
    }
    Result<Committed> put(std::string key, std::string value, LeaseId lease = {}) {
        Transaction transaction;
        transaction.operations.push_back(put_of(std::move(key), std::move(value), lease));
        return run(store_->commit(std::move(transaction)));
    }
    Result<Committed> remove(std::string key) {
        Transaction transaction;
        transaction.operations.push_back(Delete{std::move(key)});
        return run(store_->commit(std::move(transaction)));
    }
    std::string value(std::string_view key) {
        const RecordPtr record = store_->get(key);
        return record ? *record->value.bytes() : "(absent)";
    }
    /// "+a=1@1 a=2@2 -a=2@3": the events that the watch has now, + for created.
    static std::string text(const std::vector<EventPtr>& events) {
        std::string text;
        for (const EventPtr& event : events) {
            if (!text.empty()) text += ' ';
            text += event->type == Event::Type::Delete ? "-" : event->is_create() ? "+" : "";
            text += event->record->key + "=" + *event->record->value.bytes() + "@" + to_string(event->revision);
        }
        return text;
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    MemoryDisk disk_;
    std::unique_ptr<StoreBacking> backing_ = make_store_backing(loop_, disk_);
    Store::Options options_;
    std::unique_ptr<Store> store_;
};

}  // namespace porthole::store
