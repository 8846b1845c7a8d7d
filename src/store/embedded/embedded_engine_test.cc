#include "store/embedded/embedded_engine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/sim/sim_loop.h"
#include "store/store.h"

namespace porthole::store {
namespace {

struct EmbeddedEngineTest : testing::Test {
    EmbeddedEngineTest() {
        std::string name = testing::TempDir() + "/store-XXXXXX";
        directory_ = ::mkdtemp(name.data());
    }
    ~EmbeddedEngineTest() override { std::filesystem::remove_all(directory_); }

    void open() {
        auto engine = open_embedded_engine(directory_);
        ASSERT_TRUE(engine) << engine.error().message;
        Store::Seams seams{loop_, pool_, Logger(make_null_sink(), "store")};
        auto store = Store::open(std::move(seams), std::move(*engine), {}, {});
        ASSERT_TRUE(store) << store.error().message;
        store_ = std::move(*store);
    }
    void close() {
        ASSERT_TRUE(sim::run(loop_, store_->close()));
        loop_.run_ready();
        store_.reset();
    }
    Result<Committed> put(std::string key, std::string value, std::optional<std::uint32_t> revision_at = {}) {
        Transaction transaction;
        transaction.operations.push_back(Put{.key = std::move(key), .value = std::move(value), .revision_at = revision_at});
        return sim::run(loop_, store_->commit(std::move(transaction)));
    }

    std::string directory_;
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    std::unique_ptr<Store> store_;
};

TEST_F(EmbeddedEngineTest, ReopeningGivesEverythingBack) {
    open();
    const std::string binary("\0k8s\xff\n", 7);
    ASSERT_TRUE(put("/a", R"({"rv":""})", 7));
    ASSERT_TRUE(put("/binary", binary));
    ASSERT_TRUE(put("/empty", ""));
    const LeaseId lease = *sim::run(loop_, store_->grant_lease(std::chrono::hours(1)));
    ASSERT_TRUE(sim::run(loop_, store_->commit({{}, {Put{.key = "/leased", .value = "x", .lease = lease}, Delete{"/empty"}}})));
    close();
    open();
    EXPECT_EQ(*store_->get("/a")->value.bytes(), R"({"rv":"1"})");
    EXPECT_EQ(*store_->get("/binary")->value.bytes(), binary);
    EXPECT_EQ(store_->get("/empty"), nullptr);
    EXPECT_EQ(*(*store_->get_at("/empty", Revision(3)))->value.bytes(), "");
    EXPECT_EQ(store_->get("/leased")->lease, lease);
    EXPECT_EQ(store_->revision(), Revision(5));
    close();
}

TEST_F(EmbeddedEngineTest, CompactionSurvivesReopening) {
    open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("/a", std::to_string(i)));
    ASSERT_TRUE(sim::run(loop_, store_->compact(Revision(9))));
    close();
    open();
    EXPECT_EQ(store_->compacted(), Revision(9));
    EXPECT_EQ(*(*store_->get_at("/a", Revision(9)))->value.bytes(), "8");
    EXPECT_EQ(store_->get("/a")->created, Revision(1));
    close();
}

TEST_F(EmbeddedEngineTest, ASecondOpenerIsToldWhoIsThere) {
    open();
    const auto second = open_embedded_engine(directory_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().reason, Reason::Conflict);
    EXPECT_EQ(second.error().message, "the data directory " + directory_ + " is in use by process " + std::to_string(::getpid()) +
                                          ": stop it first, or choose another directory");
    close();
    open();
    close();
}

TEST_F(EmbeddedEngineTest, OthersCannotReadItsFiles) {
    open();
    ASSERT_TRUE(put("/a", "secret"));
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        struct stat status{};
        ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0077, 0u) << entry.path();
    }
    close();
}

TEST_F(EmbeddedEngineTest, RubbishAndNewerFormatsAreRefusedInOneLine) {
    const std::string path = directory_ + "/store.db";
    open();
    close();
    // Offset 60 of an SQLite file is its user_version, big-endian.
    FILE* file = std::fopen(path.c_str(), "r+");
    std::fseek(file, 63, SEEK_SET);
    std::fputc(99, file);
    std::fclose(file);
    EXPECT_NE(open_embedded_engine(directory_).error().message.find("newer Porthole (format 99"), std::string::npos);
    file = std::fopen(path.c_str(), "w");
    std::fputs(std::string(5000, 'x').c_str(), file);
    std::fclose(file);
    const auto rubbish = open_embedded_engine(directory_);
    ASSERT_FALSE(rubbish);
    EXPECT_EQ(rubbish.error().message, "opening " + path + ": file is not a database");
}

}  // namespace
}  // namespace porthole::store
