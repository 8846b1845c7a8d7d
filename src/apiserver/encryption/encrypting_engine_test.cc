#include "apiserver/encryption/encrypting_engine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/files/durable_file.h"
#include "runtime/sim/sim_loop.h"
#include "store/embedded/embedded_engine.h"
#include "store/memory/memory_engine.h"
#include "store/store.h"

namespace porthole::apiserver {
namespace {

namespace fs = std::filesystem;

const std::string Key = "/registry/core/secrets/ns/a", Plain = R"({"data":{"password":"correct horse"}})", Needle = "correct horse";

EncryptionConfiguration with_keys(const std::string& names) {
    EncryptionProvider secretbox{.kind = EncryptionProvider::Kind::Secretbox};
    for (const char name : names) secretbox.keys.push_back({std::string(1, name), std::string(32, name)});
    EncryptionConfiguration configuration;
    configuration.rules.push_back({{"secrets"}, {{.kind = EncryptionProvider::Kind::Identity}}});
    auto& providers = configuration.rules[0].providers;
    if (!names.empty()) providers.insert(providers.begin(), secretbox);
    return configuration;
}

/// A store that is closed and opened again with other keys.
class EncryptedStore {
public:
    using MakeEngine = std::function<std::unique_ptr<store::Engine>()>;
    explicit EncryptedStore(MakeEngine make) : make_(std::move(make)) {}
    ~EncryptedStore() { close(); }

    void open(const std::string& keys) {
        close();
        encryption = std::make_shared<StorageEncryption>(MakeKmsCipher());
        ASSERT_TRUE(encryption->use(with_keys(keys)));
        auto opened =
            store::Store::open({loop, pool, Logger(make_null_sink(), "store")}, make_encrypting_engine(make_(), encryption), {}, {});
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
    }
    void close() {
        if (!store) return;
        EXPECT_TRUE(sim::run(loop, store->close()));
        store.reset();
    }
    void put(const std::string& key, std::string value, std::optional<std::uint32_t> revision_at = std::nullopt) {
        store::Transaction transaction;
        transaction.operations.push_back(store::Put{.key = key, .value = std::move(value), .revision_at = revision_at});
        ASSERT_TRUE(sim::run(loop, store->commit(std::move(transaction))));
    }
    std::string get(const std::string& key) const {
        const auto record = store->get(key);
        return record ? *record->value.bytes() : "";
    }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    std::shared_ptr<StorageEncryption> encryption;
    std::unique_ptr<store::Store> store;

private:
    MakeEngine make_;
};

struct EncryptingEngineTest : testing::Test {
    store::MemoryDisk disk;
    EncryptedStore opened{[this] { return std::make_unique<store::MemoryEngine>(disk); }};
    /// What the disk holds under the key.
    std::string on_disk(const std::string& key) {
        std::string value;
        EXPECT_TRUE(store::MemoryEngine(disk).load([&](store::Row row) {
            if (row.key == key) value = row.value;
        }));
        return value;
    }
};

TEST_F(EncryptingEngineTest, TheDiskHoldsNoPlainValueOfWhatIsCovered) {
    opened.open("a");
    opened.put(Key, R"({"resourceVersion":"","password":"correct horse"})", 20);
    opened.put("/registry/core/configmaps/ns/a", Plain);
    EXPECT_EQ(opened.get(Key), R"({"resourceVersion":"1","password":"correct horse"})") << "readers see it plain";
    EXPECT_TRUE(on_disk(Key).starts_with("k8s:enc:secretbox:v1:a:"));
    EXPECT_EQ(on_disk("/registry/core/configmaps/ns/a"), Plain);
    opened.open("a");
    EXPECT_EQ(opened.get(Key), R"({"resourceVersion":"1","password":"correct horse"})");
}

TEST_F(EncryptingEngineTest, OldPlainValuesAreReadAndStale) {
    opened.open("");
    opened.put(Key, Plain);
    opened.open("a");
    EXPECT_EQ(opened.get(Key), Plain);
    EXPECT_TRUE(opened.store->is_stale(Key));
    EXPECT_EQ(opened.encryption->stale_values(), 1u);
    opened.put(Key, Plain);
    EXPECT_FALSE(opened.store->is_stale(Key));
    EXPECT_EQ(opened.encryption->stale_values(), 0u);
}

TEST_F(EncryptingEngineTest, ADeletedValueIsNotStale) {
    opened.open("a");
    opened.put(Key, Plain);
    store::Transaction transaction;
    transaction.operations.push_back(store::Delete{Key});
    ASSERT_TRUE(sim::run(opened.loop, opened.store->commit(std::move(transaction))));
    ASSERT_TRUE(opened.encryption->use(with_keys("ba")));
    EXPECT_EQ(opened.encryption->stale_values(), 0u);
}

TEST_F(EncryptingEngineTest, VersionsOfADroppedKeyAreHiddenAsCompacted) {
    opened.open("a");
    opened.put(Key, Plain);                               // 1
    opened.put("/registry/core/configmaps/ns/b", Plain);  // 2
    ASSERT_TRUE(opened.encryption->use(with_keys("ba")));
    opened.put(Key, Plain);                               // 3
    opened.put("/registry/core/configmaps/ns/b", Plain);  // 4
    opened.open("b");
    EXPECT_EQ(opened.get(Key), Plain);
    EXPECT_EQ(opened.store->compacted(), store::Revision(3));
    EXPECT_FALSE(opened.store->get_at(Key, store::Revision(2)));
    EXPECT_TRUE(opened.store->get_at(Key, store::Revision(3)));
    EXPECT_EQ(opened.encryption->unreadable().count, 0u);
}

TEST_F(EncryptingEngineTest, WhatCannotBeDecryptedSaysWhyAndStaysOnDisk) {
    opened.open("a");
    opened.put(Key, Plain);
    const std::string stored = on_disk(Key);
    opened.open("b");
    ASSERT_TRUE(is_unreadable(opened.get(Key)));
    EXPECT_EQ(why_unreadable(opened.get(Key)), "no matching key was found for the provided Secretbox transformer");
    EXPECT_EQ(opened.encryption->unreadable().example, Key);
    EXPECT_EQ(on_disk(Key), stored);
    opened.open("a");
    EXPECT_EQ(opened.get(Key), Plain) << "the key has been found again";
}

TEST_F(EncryptingEngineTest, WhatCannotBeDecryptedIsOpenedAgainWhenItsKeyIsBack) {
    opened.open("a");
    opened.put(Key, Plain);
    opened.open("b");
    EXPECT_TRUE(opened.encryption->reopen().empty());
    ASSERT_TRUE(opened.encryption->use(with_keys("ba")));
    const auto again = opened.encryption->reopen();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].key, Key);
    EXPECT_EQ(again[0].value, Plain);
    opened.put(Key, Plain);
    EXPECT_EQ(opened.encryption->unreadable().count, 0u) << "it has been written anew";
}

TEST_F(EncryptingEngineTest, AConfigurationWithoutAKeyThatIsInUseIsRefused) {
    opened.open("a");
    opened.put(Key, Plain);
    for (const char* keys : {"b", ""}) EXPECT_EQ(opened.encryption->use(with_keys(keys)).error().reason, Reason::Conflict) << keys;
    EXPECT_EQ(opened.encryption->use({}).error().reason, Reason::Conflict) << "without the resource";
    EncryptionConfiguration other = with_keys("a");
    other.rules[0].providers[0].kind = EncryptionProvider::Kind::AesGcm;
    EXPECT_FALSE(opened.encryption->use(other)) << "the key of another provider";
    opened.put(Key, Plain);
    EXPECT_TRUE(on_disk(Key).starts_with("k8s:enc:secretbox:v1:a:")) << "the first one is used on";
    ASSERT_TRUE(opened.encryption->use(with_keys("ba")));
    opened.put(Key, Plain);
    EXPECT_TRUE(opened.encryption->use(with_keys("b")));
}

TEST_F(EncryptingEngineTest, PlainValuesNeedTheProviderIdentity) {
    opened.open("");
    opened.put(Key, Plain);
    EncryptionConfiguration strict = with_keys("a");
    strict.rules[0].providers.pop_back();
    EXPECT_FALSE(opened.encryption->use(strict));
    ASSERT_TRUE(opened.encryption->use(with_keys("a")));
    opened.put(Key, Plain);
    EXPECT_TRUE(opened.encryption->use(strict));
}

TEST_F(EncryptingEngineTest, ARotationMayStopAnywhere) {
    const std::vector<std::string> others = {"/registry/core/secrets/ns/b", "/registry/core/secrets/ns/c"};
    opened.open("a");
    opened.put(Key, Plain);
    for (const std::string& other : others) opened.put(other, Plain);
    const auto all_readable = [&] {
        for (const std::string& key : {Key, others[0], others[1]}) EXPECT_EQ(opened.get(key), Plain);
    };
    opened.open("ba");
    all_readable();
    opened.put(Key, Plain);
    opened.open("ba");
    all_readable();
    EXPECT_EQ(opened.encryption->stale_values(), 2u) << "the rest is still to be done";
    for (const std::string& other : others) opened.put(other, Plain);
    EXPECT_EQ(opened.encryption->stale_values(), 0u);
    opened.open("b");
    all_readable();
}

TEST(EncryptedDisk, HasNoTraceOfASecret) {
    const fs::path folder = fs::path(testing::TempDir()) / ("encrypted_disk_" + std::to_string(::getpid()));
    fs::remove_all(folder);
    const auto found = [&] {
        std::string in;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && read_file(entry.path())->contains(Needle)) in += entry.path().filename().string() + " ";
        return in;
    };
    {
        EncryptedStore opened([&] { return *store::open_embedded_engine(folder.string()); });
        opened.open("");
        opened.put(Key, Plain);
        EXPECT_NE(found(), "") << "the search finds what is there";
        opened.open("a");
        opened.put(Key, Plain);
        EXPECT_TRUE(sim::run(opened.loop, opened.store->compact(opened.store->revision())));
        opened.open("a");
        EXPECT_EQ(found(), "") << "nor of its life before there was a key";
        for (int i = 0; i < 50; ++i) opened.put("/registry/core/secrets/ns/" + std::to_string(i), Plain);
        EXPECT_EQ(found(), "") << "nor in the log that is open";
        EXPECT_EQ(opened.get(Key), Plain);
    }
    EXPECT_EQ(found(), "");
    fs::remove_all(folder);
}

}  // namespace
}  // namespace porthole::apiserver
