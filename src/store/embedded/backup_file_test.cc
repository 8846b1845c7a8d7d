#include "store/embedded/backup_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/sim/sim_loop.h"
#include "store/embedded/embedded_engine.h"
#include "store/embedded/sqlite.h"
#include "store/memory/memory_engine.h"
#include "store/store.h"

namespace porthole::store {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t Now = 1'800'000'000;

/// A store in one folder, its backup, and a store in another folder that is made from it.
struct BackupTest : testing::Test {
    static std::string make_folder() {
        std::string name = testing::TempDir() + "/backup-XXXXXX";
        return ::mkdtemp(name.data());
    }
    ~BackupTest() override { fs::remove_all(folder_); }

    std::unique_ptr<Store> open(const std::string& directory) {
        auto engine = open_embedded_engine(directory);
        EXPECT_TRUE(engine) << engine.error().message;
        auto store = Store::open({loop_, pool_, Logger(make_null_sink(), "store")}, std::move(*engine), {}, {});
        EXPECT_TRUE(store) << store.error().message;
        return std::move(*store);
    }
    void close(std::unique_ptr<Store> store) {
        ASSERT_TRUE(sim::run(loop_, store->close()));
        loop_.run_ready();
    }
    void commit(Store& store, std::vector<Operation> operations) {
        ASSERT_TRUE(sim::run(loop_, store.commit({{}, std::move(operations)})));
    }
    Result<BackupInfo> back_up() {
        BackupInfo info{.cluster = "sha256:abc", .created = Timestamp::from_seconds(Now), .program = "1"};
        TRY(BackupWriter writer, BackupWriter::create(file_));
        TRY(info.revision, read_embedded_store(source_, [&](const Row& row) { return writer.add(row); }));
        TRY_VOID(writer.finish(info));
        return info;
    }
    Result<BackupInfo> restore() {
        TRY(const auto engine, open_embedded_engine(target_));
        return restore_backup(file_, *engine, now_);
    }
    Result<BackupInfo> read() {
        return read_backup(file_, [](const Row&) { return Result<void>(); });
    }
    void execute(const char* sql) {
        auto database = Database::open(file_);
        ASSERT_TRUE(database);
        const auto done = database->execute(sql);
        ASSERT_TRUE(done) << done.error().message;
    }

    const std::string folder_ = make_folder();
    const std::string source_ = folder_ + "/source", target_ = folder_ + "/target", file_ = folder_ + "/file";
    Timestamp now_ = Timestamp::from_seconds(Now + 60);  ///< of restoring
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
};

TEST_F(BackupTest, GivesBackWhatTheStoreHadAndNothingThatWasDeleted) {
    auto store = open(source_);
    commit(*store, {Put{.key = "/a", .value = R"({"rv":""})", .revision_at = 7}, Put{.key = "/b", .value = std::string("\0\xff", 2)}});
    const LeaseId lease = *sim::run(loop_, store->grant_lease(std::chrono::hours(1)));
    commit(*store, {Put{.key = "/leased", .value = "x", .lease = lease}, Put{.key = "/gone", .value = "x"}});
    commit(*store, {Delete{"/gone"}});
    const Revision last = store->revision();
    const auto info = back_up();  // the store is open, and locked
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->revision, last);
    commit(*store, {Put{.key = "/later", .value = "x"}});
    close(std::move(store));

    const auto restored = restore();
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->records, 4u);
    EXPECT_EQ(restored->cluster, "sha256:abc");
    store = open(target_);
    EXPECT_EQ(*store->get("/a")->value.bytes(), R"({"rv":"1"})");
    EXPECT_EQ(store->get("/a")->created, Revision(1));
    EXPECT_EQ(*store->get("/b")->value.bytes(), std::string("\0\xff", 2));
    EXPECT_EQ(store->get("/leased")->lease, lease);
    EXPECT_EQ(store->get("/gone"), nullptr);
    EXPECT_EQ(store->get("/later"), nullptr);
    ASSERT_TRUE(sim::run(loop_, store->revoke_lease(lease)));
    EXPECT_EQ(store->get("/leased"), nullptr);
    close(std::move(store));
}

TEST_F(BackupTest, ClientsOfTheFormerStoreMustReadAnew) {
    auto store = open(source_);
    commit(*store, {Put{.key = "/a", .value = "1"}});
    ASSERT_TRUE(back_up());
    for (int n = 0; n < 5; ++n) commit(*store, {Put{.key = "/a", .value = "2"}});
    const Revision seen = store->revision();
    close(std::move(store));
    ASSERT_TRUE(restore());
    store = open(target_);
    EXPECT_GT(store->revision(), seen);
    const auto watch = store->watch({.prefix = "/", .after = seen});
    ASSERT_FALSE(watch);
    EXPECT_EQ(watch.error().reason, Reason::Expired);
    commit(*store, {Put{.key = "/b", .value = "1"}});
    EXPECT_GT(store->get("/b")->modified, seen);
    close(std::move(store));
}

TEST_F(BackupTest, RestoringAgainGoesBeyondWhatTheFirstTimeGave) {
    close(open(source_));
    ASSERT_TRUE(back_up());
    ASSERT_TRUE(restore());
    auto store = open(target_);
    for (int n = 0; n < 100; ++n) commit(*store, {Put{.key = "/a", .value = "x"}});
    const Revision seen = store->revision();
    close(std::move(store));
    fs::remove_all(target_);
    now_ = Timestamp::from_seconds(Now + 61);
    ASSERT_TRUE(restore());
    store = open(target_);
    EXPECT_FALSE(store->watch({.prefix = "/", .after = seen}));
    close(std::move(store));
}

TEST_F(BackupTest, CommitsDoNotWaitForOneThatReads) {
    const EmbeddedOptions small{.checkpoint_length = 1 << 20, .restart_length = 1 << 16, .reserved_ahead = 1 << 12};
    auto engine = open_embedded_engine(source_, small);
    ASSERT_TRUE(engine);
    ASSERT_TRUE((*engine)->load([](Row) {}));
    std::uint64_t revision = 0;
    const auto append = [&] {
        ++revision;
        const Commit commit{
            .rows = {{.revision = Revision(revision), .key = "/a", .value = std::string(1 << 16, 'x'), .created = Revision(1)}}};
        return (*engine)->append(std::span(&commit, 1));
    };
    ASSERT_TRUE(append());
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(read_embedded_store(source_, [&](const Row&) -> Result<void> {
        for (int n = 0; n < 8; ++n) TRY_VOID(append());
        return {};
    }));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "a lock is waited for 5 s, each of the 8 times";
    (*engine)->close();
}

TEST_F(BackupTest, ManyRecordsOfManyRevisionsAreTheSameInTheRestoredStore) {
    auto store = open(source_);
    for (int n = 0; n < 300; ++n) {
        const std::string key = "/" + std::to_string(n);
        commit(*store,
               {Put{.key = key, .value = std::string(n, 'x')}, Put{.key = key + "/b", .value = "y"}, Put{.key = key + "/c", .value = ""}});
    }
    close(std::move(store));
    ASSERT_TRUE(back_up());
    const auto info = restore();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->records, 900u);
    ASSERT_TRUE(verify_restored(**open_embedded_engine(target_), *info, now_));
    store = open(target_);
    commit(*store, {Put{.key = "/more", .value = "x"}});
    close(std::move(store));
    EXPECT_FALSE(verify_restored(**open_embedded_engine(target_), *info, now_));
}

TEST_F(BackupTest, AnEngineThatHoldsSomethingIsNotFilled) {
    close(open(source_));
    ASSERT_TRUE(back_up());
    auto store = open(target_);
    commit(*store, {Put{.key = "/a", .value = "1"}});
    close(std::move(store));
    const auto restored = restore();
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().reason, Reason::Conflict);
}

TEST_F(BackupTest, DamageIsFound) {
    auto store = open(source_);
    commit(*store, {Put{.key = "/a", .value = "one"}, Put{.key = "/b", .value = "two"}});
    close(std::move(store));
    const struct {
        const char *sql, *said;
    } faults[] = {
        {"UPDATE log SET value=X'00' WHERE key='/b'", "not those that were written"},
        {"DELETE FROM log WHERE key='/b'", "not those that were written"},
        {"UPDATE log SET value=NULL WHERE key='/b'", "damaged at revision 1"},
        {"UPDATE log SET revision_at=4 WHERE key='/b'", "damaged at revision 1"},
        {"UPDATE log SET key='' WHERE key='/b'", "damaged at revision 1"},
        {"UPDATE log SET created=2 WHERE key='/b'", "damaged at revision 1"},
        {"UPDATE log SET id=id+4096*9 WHERE key='/b'", "damaged at revision 10"},
        {"UPDATE log SET id=-id WHERE key='/b'", "damaged at revision"},
        {"UPDATE info SET value='18446744073709551615' WHERE name='revision'", "is out of range"},
        {"DROP TABLE info", "not a whole backup"},
        {"ALTER TABLE log RENAME TO l; CREATE VIEW log AS SELECT * FROM l", "not a whole backup"},
        {"PRAGMA user_version=2", "a newer Porthole"},
        {"PRAGMA application_id=1", "is not a backup"},
    };
    for (const auto& fault : faults) {
        fs::remove(file_);
        ASSERT_TRUE(back_up());
        ASSERT_TRUE(read());
        execute(fault.sql);
        const auto found = read();
        ASSERT_FALSE(found) << fault.sql;
        EXPECT_EQ(found.error().reason, Reason::Io) << fault.sql;
        EXPECT_THAT(found.error().message, HasSubstr(fault.said)) << fault.sql;
    }
}

TEST_F(BackupTest, AFileThatWasCutOffIsDamaged) {
    auto store = open(source_);
    commit(*store, {Put{.key = "/a", .value = std::string(100'000, 'x')}});
    close(std::move(store));
    ASSERT_TRUE(back_up());
    fs::resize_file(file_, fs::file_size(file_) / 2);
    EXPECT_THAT(read().error().message, HasSubstr("it is damaged"));
}

TEST_F(BackupTest, WhatIsNoBackupIsRefused) {
    EXPECT_EQ(read().error().reason, Reason::NotFound);
    std::ofstream(file_) << "apiVersion: v1\n";
    EXPECT_THAT(read().error().message, HasSubstr("file is not a database"));
    fs::remove(file_);
    {
        ASSERT_TRUE(BackupWriter::create(file_));
    }
    EXPECT_FALSE(read()) << "not finished";
    EXPECT_EQ(BackupWriter::create(file_).error().reason, Reason::AlreadyExists);
}

TEST_F(BackupTest, AnEngineThatFailsIsReported) {
    auto store = open(source_);
    commit(*store, {Put{.key = "/a", .value = "one"}});
    close(std::move(store));
    ASSERT_TRUE(back_up());
    struct Failing final : Engine {
        Result<Revision> load(const std::function<void(Row)>&) override { return Revision(); }
        Result<void> append(std::span<const Commit>) override { return Error(Reason::Io, "disk full"); }
        Result<void> compact(Revision, std::span<const Row>) override { return {}; }
        void close() override {}
    } engine;
    EXPECT_THAT(restore_backup(file_, engine, now_).error().message, HasSubstr("disk full"));
}

}  // namespace
}  // namespace porthole::store
