#pragma once
#include <gtest/gtest.h>

#include "apiserver/storage/object_reader.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/memory/memory_engine.h"

namespace porthole::apiserver {

/// Objects in a store on a simulated loop, for tests of classes that read them.
class ObjectTest : public testing::Test {
protected:
    ObjectTest() {
        store::Store::Seams seams{loop_, pool_, Logger(make_null_sink(), "store")};
        store_ = std::move(*store::Store::open(std::move(seams), std::make_unique<store::MemoryEngine>(disk_), {}, {}));
    }
    ~ObjectTest() override {
        EXPECT_TRUE(sim::run(loop_, store_->close()));
        loop_.run_ready();
    }

    template <class T>
    void put(const T& object) {
        put_text(object_key(T::kind(), object.metadata.namespace_, object.metadata.name), schema::encode_json(object));
    }
    void put_text(std::string key, std::string text) {
        store::Put put;
        put.key = std::move(key);
        put.value = std::move(text);
        commit(std::move(put));
    }
    template <class T>
    void remove(const std::string& namespace_, const std::string& name) {
        commit(store::Delete{object_key(T::kind(), namespace_, name)});
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop_, std::move(task));
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    store::MemoryDisk disk_;
    std::unique_ptr<store::Store> store_;

private:
    void commit(store::Operation operation) {
        store::Transaction transaction;
        transaction.operations.push_back(std::move(operation));
        ASSERT_TRUE(sim::run(loop_, store_->commit(std::move(transaction))));
    }
};

/// The object with its metadata's name, namespace and uid.
template <class T>
T named(std::string namespace_, std::string name, std::string uid = "") {
    T object;
    object.metadata.namespace_ = std::move(namespace_);
    object.metadata.name = std::move(name);
    object.metadata.uid = std::move(uid);
    return object;
}

}  // namespace porthole::apiserver
