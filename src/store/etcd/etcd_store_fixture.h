#pragma once
#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/plain_form_fixture.h"
#include "store/etcd/sim/etcd_model.h"

namespace porthole::store::etcd {

using namespace std::chrono_literals;

/// A store on a model of an etcd with three members, in simulated time.
struct EtcdStoreTest : testing::Test {
    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    EtcdModel etcd{loop, 3, 1};
    EtcdStoreOptions options{.compact_every = {}};
    std::shared_ptr<StoredForm> form = std::make_shared<PlainForm>();
    std::unique_ptr<Store> store;

    ~EtcdStoreTest() override {
        close(store);
        EXPECT_TRUE(sim::run(loop, etcd.close()));
        loop.run_ready();
    }
    Result<std::unique_ptr<Store>> try_open() {
        Store::Seams seams{loop, pool, Logger(make_null_sink(), "store")};
        return sim::run(loop, open_etcd_store(std::move(seams), etcd.members(), form, {}, options));
    }
    void open() {
        auto opened = try_open();
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
        loop.run_ready();
    }
    void close(std::unique_ptr<Store>& which) {
        if (!which) return;
        EXPECT_TRUE(sim::run(loop, which->close()));
        loop.run_ready();
        which.reset();
    }

    /// A write by another writer.
    void put_there(const std::string& key, const std::string& value) {
        etcd.put("/registry" + key, ";" + value);
        loop.run_ready();
    }
    std::string there(const std::string& key) { return etcd.value("/registry" + key); }
    std::string here(const std::string& key) {
        const RecordPtr record = store->get(key);
        return record ? *record->value.bytes() : "(absent)";
    }
    static Transaction writing(std::string key, std::string value, std::vector<Guard> guards = {}) {
        Transaction transaction{.guards = std::move(guards)};
        transaction.operations.push_back(Put{.key = std::move(key), .value = std::move(value)});
        return transaction;
    }
    Result<Committed> commit(Transaction transaction) { return sim::run(loop, store->commit(std::move(transaction))); }
    Result<Committed> put(std::string key, std::string value, std::vector<Guard> guards = {}) {
        return commit(writing(std::move(key), std::move(value), std::move(guards)));
    }
    Result<Committed> create(std::string key, std::string value) { return put(key, std::move(value), {Guard::absent(key)}); }
    Result<Committed> remove(std::string key) {
        Transaction transaction;
        transaction.operations.push_back(Delete{std::move(key)});
        return commit(std::move(transaction));
    }
    /// A commit in progress while the test does something else.
    struct Pending {
        Pending(sim::SimLoop& loop, Task<Committed> task) : context(loop) {
            start_task(std::move(task), context, [this](Result<Committed> value) { result.emplace(std::move(value)); });
            loop.run_ready();
        }
        TaskContext context;
        std::optional<Result<Committed>> result;
    };

    Watch watch(Revision after) {
        auto watch = store->watch({.prefix = "/", .after = after, .topic = ""});
        CHECK(watch.has_value());
        return std::move(*watch);
    }
    std::string next(Watch& watch) {
        const auto events = sim::run(loop, watch.next(), 1ms);
        if (!events) return to_string(events.error().reason);
        std::string text;
        for (const EventPtr& event : *events)
            text += (event->type == Event::Type::Delete ? "-" : "+") + event->record->key + "=" + *event->record->value.bytes() + "@" +
                    to_string(event->revision) + " ";
        return text;
    }
};

}  // namespace porthole::store::etcd
