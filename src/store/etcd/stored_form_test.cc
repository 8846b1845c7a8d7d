#include <set>

#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

using StoredFormTest = EtcdStoreTest;

/// Counts the values that may still be stored.
class CountingForm final : public PlainForm {
public:
    Result<Sealed> seal(const std::string& key, Value value) override {
        TRY(Sealed sealed, PlainForm::seal(key, std::move(value)));
        sealed.pending = token_;
        return sealed;
    }
    long pending() const { return token_.use_count() - 1; }

private:
    std::shared_ptr<int> token_ = std::make_shared<int>();
};

TEST_F(StoredFormTest, AValueIsPendingUntilItHasArrivedOrIsRefused) {
    const auto counting = std::make_shared<CountingForm>();
    form = counting;
    open();
    etcd.hold_watches(true);
    Pending created(loop, store->commit(writing("/a", "1", {Guard::absent("/a")})));
    EXPECT_EQ(counting->pending(), 1);
    etcd.hold_watches(false);
    loop.run_ready();
    EXPECT_EQ(counting->pending(), 0);
    EXPECT_EQ(create("/a", "2").error().reason, Reason::AlreadyExists);
    EXPECT_EQ(counting->pending(), 0);
}

TEST_F(StoredFormTest, AValueOfAnUnknownOutcomeIsPendingUntilItCannotBeStoredAnyMore) {
    const auto counting = std::make_shared<CountingForm>();
    form = counting;
    open();
    for (const auto when : {EtcdModel::Break::Late, EtcdModel::Break::After}) {
        etcd.break_next_txn(when);
        Pending written(loop, store->commit(writing("/a", "1")));
        for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
        loop.advance(10s);
        ASSERT_TRUE(written.result);
        EXPECT_EQ(written.result->error().reason, Reason::Timeout);
        EXPECT_EQ(counting->pending(), 1);
        for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
        loop.advance(10s);
        EXPECT_EQ(counting->pending(), 0);
        if (when == EtcdModel::Break::Late) etcd.carry_out_late();
        loop.advance(1s);
        EXPECT_EQ(here("/a"), when == EtcdModel::Break::Late ? "(absent)" : "1");
    }
}

/// Knows what is stored.
class RememberingForm final : public PlainForm {
public:
    Value open(const std::string& key, std::string stored) override {
        stored_.insert(key);
        return PlainForm::open(key, std::move(stored));
    }
    void removed(const std::string& key) override { stored_.erase(key); }
    const std::set<std::string>& stored() const { return stored_; }

private:
    std::set<std::string> stored_;
};

TEST_F(StoredFormTest, TheFormIsToldWhatHasVanishedBeforeALoad) {
    const auto remembering = std::make_shared<RememberingForm>();
    form = remembering;
    for (const char* key : {"/a", "/b"}) put_there(key, "1");
    open();
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    loop.advance(1s);
    etcd.remove("/registry/a");
    etcd.put("/registry/c", ";1");
    etcd.compact(etcd.revision());
    for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
    loop.advance(5s);
    EXPECT_EQ(here("/a"), "(absent)");
    EXPECT_EQ(remembering->stored(), (std::set<std::string>{"/b", "/c"}));
}

}  // namespace
}  // namespace porthole::store::etcd
