#include "cmd/store/embedded_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "apiserver/encryption/encryption_configuration.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::cmd {
namespace {

using apiserver::StoreState;
using store::Revision;
using store::Row;
namespace fs = std::filesystem;

std::shared_ptr<apiserver::StorageEncryption> no_encryption() {
    return std::make_shared<apiserver::StorageEncryption>(apiserver::MakeKmsCipher());
}

struct EmbeddedSide : testing::Test {
    EmbeddedSide() {
        for (std::uint64_t revision : {7, 9}) {
            Row row{.revision = Revision(revision),
                    .key = "/registry/core/pods/ns/" + std::to_string(revision),
                    .value = R"({"metadata":{"resourceVersion":""}})",
                    .revision_at = 32,
                    .created = Revision(3)};
            CHECK(add_row(state, form, std::move(row)));
        }
        state.revision = Revision(20);
    }
    ~EmbeddedSide() override { fs::remove_all(folder); }

    const fs::path folder = fs::temp_directory_path() / ("porthole-side-" + std::to_string(::getpid())), store = folder / "store";
    const apiserver::TransferForm form{no_encryption(), no_encryption(), "/registry"};
    StoreState state;
};

TEST_F(EmbeddedSide, AStoreHasTheRowsWithTheirRevisionsAndNoHistory) {
    fs::create_directories(store);
    const auto made = make_embedded_store(store, state, form);
    ASSERT_TRUE(made) << made.error().message;
    const auto again = read_embedded_state(store, form);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->revision, Revision(20));
    EXPECT_EQ(again->manifest.digest(), state.manifest.digest());
    ASSERT_EQ(again->rows.size(), 2u);
    EXPECT_EQ(again->rows[1].revision, Revision(9));
    EXPECT_EQ(again->rows[1].created, Revision(3));
    EXPECT_EQ(again->rows[1].revision_at, 32u);
    const auto engine = store::open_embedded_engine(store.string());
    ASSERT_TRUE(engine);
    EXPECT_EQ(*(*engine)->load([](const Row&) {}), Revision(20)) << "watches from before have expired";
    (*engine)->close();
}

TEST_F(EmbeddedSide, WhatAnUnfinishedCopyHasLeftIsRemoved) {
    StoreState other;
    ASSERT_TRUE(add_row(other, form, {.revision = Revision(5), .key = "/a", .value = "x", .created = Revision(5)}));
    other.revision = Revision(5);
    ASSERT_TRUE(make_embedded_store(store, other, form));
    ASSERT_TRUE(make_embedded_store(store, state, form));
    EXPECT_EQ(read_embedded_state(store, form)->manifest.difference(state.manifest), "");
}

TEST_F(EmbeddedSide, ACopyThatIsNotTheSameIsRefused) {
    state.manifest.add("/registry/core/pods/ns/lost", "", false);
    const auto made = make_embedded_store(store, state, form);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("is not the same: /registry/core/pods/ns/lost is missing"));
}

TEST_F(EmbeddedSide, ADirectoryWithoutAStoreIsNotRead) { EXPECT_EQ(read_embedded_state(store, form).error().reason, Reason::NotFound); }

}  // namespace
}  // namespace porthole::cmd
