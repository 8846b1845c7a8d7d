#include "local_cluster/control_plane/cluster_backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/base64.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_lock.h"
#include "store/embedded/embedded_engine.h"

namespace porthole::local_cluster {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr SystemTime Now{std::chrono::seconds(1'800'000'000)};

struct ClusterBackup : testing::Test {
    ClusterBackup() {
        fs::create_directories(folder);
        make_cluster(data);
    }
    ~ClusterBackup() override { fs::remove_all(folder); }

    static void make_cluster(const DataDir& where) {
        ASSERT_TRUE(node_join::Pki::ensure(where.pki(), {.dns = {"localhost"}, .addresses = {"127.0.0.1"}}, Now));
        ASSERT_TRUE(write_durably(where.encryption_file(), "kind: EncryptionConfiguration\n"));
        Cluster cluster{.options = {.linux_nodes = 2, .windows_nodes = {{"2019"}, {"2022", "/srv/my wine"}}}};
        cluster.supervisor.pid = 4711;
        ASSERT_TRUE(cluster.save(where));
        const auto engine = store::open_embedded_engine(where.store().string());
        ASSERT_TRUE(engine);
        ASSERT_TRUE((*engine)->load([](store::Row) {}));
        const store::Commit commit{.rows = {{.revision = store::Revision(7), .key = "/a", .value = "x", .created = store::Revision(7)}}};
        ASSERT_TRUE((*engine)->append(std::span(&commit, 1)));
        (*engine)->close();
    }
    std::vector<std::string> names(const fs::path& where) {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(where)) found.push_back(entry.path().filename().string());
        std::ranges::sort(found);
        return found;
    }

    static std::string without_digest(std::string keys) {
        constexpr std::size_t DigestSize = 64;
        const std::size_t at = keys.find("\"sha256\":");
        if (at != keys.npos) keys.erase(at, keys.find(',', at + DigestSize) + 1 - at);
        return keys;
    }

    const fs::path folder = fs::temp_directory_path() / ("porthole-backup-" + std::to_string(::getpid()));
    const DataDir data{folder / "data"}, other{folder / "other"};
    const fs::path file = folder / "b", keys = folder / "b.keys";
};

TEST_F(ClusterBackup, MakesTheControlPlanesDirectoryAnew) {
    const auto backup = back_up(data, file, Now);
    ASSERT_TRUE(backup) << backup.error().message;
    EXPECT_EQ(backup->info.revision, store::Revision(7));
    EXPECT_EQ(backup->info.created, Timestamp(Now));
    EXPECT_TRUE(backup->has_encryption_key);
    EXPECT_EQ(names(folder), (std::vector<std::string>{"b", "b.keys", "data"}));
    for (const fs::path& path : {file, keys})
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write) << path;

    fs::create_directories(other.root());
    const auto restored = restore(other, file, keys, Now);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->info.records, 1u);
    EXPECT_EQ(restored->options, Cluster::load(data)->options);
    EXPECT_EQ(Cluster::load(other)->supervisor.pid, 0) << "a process of another machine";
    EXPECT_EQ(fs::status(other.root()).permissions(), fs::perms::owner_all);
    EXPECT_EQ(names(other.pki()), names(data.pki()));
    for (const std::string& name : names(data.pki())) EXPECT_EQ(*read_file(other.pki() / name), *read_file(data.pki() / name)) << name;
    EXPECT_EQ(*read_file(other.encryption_file()), "kind: EncryptionConfiguration\n");
}

TEST_F(ClusterBackup, NothingIsOverwritten) {
    ASSERT_TRUE(back_up(data, file, Now));
    EXPECT_EQ(back_up(data, file, Now).error().reason, Reason::AlreadyExists);
    fs::rename(file, folder / "c");
    EXPECT_EQ(back_up(data, file, Now).error().reason, Reason::AlreadyExists) << "its keys";
    const auto restored = restore(data, folder / "c", keys, Now);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().reason, Reason::AlreadyExists);
    EXPECT_THAT(restored.error().message, HasSubstr("porthole down --purge"));
}

TEST_F(ClusterBackup, LocksOfRefusedStartsAreNoContents) {
    ASSERT_TRUE(back_up(data, file, Now));
    fs::create_directories(other.root());
    {
        const auto starting = FileLock::try_take(other.up_lock().string());
        ASSERT_TRUE(starting && *starting);
        EXPECT_EQ(restore(other, file, keys, Now).error().reason, Reason::Conflict) << "not refused yet";
    }
    ASSERT_TRUE(write_durably(other.root() / "lock", "4711"));
    const auto restored = restore(other, file, keys, Now);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_FALSE(fs::exists(other.up_lock()));
    EXPECT_EQ(restore(other, file, keys, Now).error().reason, Reason::AlreadyExists);
}

TEST_F(ClusterBackup, AFailureLeavesNothing) {
    fs::remove(data.store() / "store.db");
    const auto backup = back_up(data, file, Now);
    ASSERT_FALSE(backup);
    EXPECT_EQ(backup.error().reason, Reason::NotFound);
    EXPECT_EQ(back_up(other, file, Now).error().reason, Reason::NotFound);
    EXPECT_EQ(names(folder), (std::vector<std::string>{"data"}));
}

TEST_F(ClusterBackup, AMissingFileIsNamed) {
    ASSERT_TRUE(back_up(data, file, Now));
    EXPECT_EQ(restore(other, folder / "c", folder / "c.keys", Now).error().message, (folder / "c").string() + " does not exist");
    EXPECT_EQ(restore(other, file, folder / "c.keys", Now).error().message,
              (folder / "c.keys").string() + ", with the backup's keys, does not exist; --keys names it");
    const fs::path keys = keys_file_of(file);
    EXPECT_EQ(restore(other, keys, keys_file_of(keys), Now).error().message,
              keys.string() + " is the file of a backup's keys: name the file of its objects, without .keys");
}

TEST_F(ClusterBackup, IsRefusedIfItsNodesCannotBeTyped) {
    Cluster cluster = *Cluster::load(data);
    for (const char* root : {"/srv/wine,windows=9", "wine", "/srv/wine\nreboot"}) {
        cluster.options.windows_nodes.back().wine_root = root;
        ASSERT_TRUE(cluster.save(data));
        const auto refused = back_up(data, file, Now);
        ASSERT_FALSE(refused) << root;
        EXPECT_THAT(refused.error().message, HasSubstr("an option that `up` does not take")) << root;
    }
}

TEST_F(ClusterBackup, KeysMustBeThoseOfTheObjects) {
    ASSERT_TRUE(back_up(data, file, Now));
    const DataDir third(folder / "third");
    make_cluster(third);
    ASSERT_TRUE(back_up(third, folder / "t", Now));
    const auto restored = restore(other, file, folder / "t.keys", Now);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().reason, Reason::Conflict);
    EXPECT_FALSE(fs::exists(other.root()));
}

TEST_F(ClusterBackup, DamagedKeysAreNotRestored) {
    ASSERT_TRUE(back_up(data, file, Now));
    std::string text = *read_file(keys);
    const std::string content = encode_base64("kind: EncryptionConfiguration\n");
    text.replace(text.find(content), 1, "b");  // still base64
    ASSERT_TRUE(write_durably(keys, text));
    const auto restored = restore(other, file, keys, Now);
    ASSERT_FALSE(restored);
    EXPECT_THAT(restored.error().message, HasSubstr("b.keys: it is damaged: its keys are not those that were written"));
    EXPECT_FALSE(fs::exists(other.root()));
}

TEST_F(ClusterBackup, KeysOfAVersionThatWroteNoDigestAreRestored) {
    ASSERT_TRUE(back_up(data, file, Now));
    ASSERT_TRUE(write_durably(keys, without_digest(*read_file(keys))));
    EXPECT_TRUE(restore(other, file, keys, Now));
}

TEST_F(ClusterBackup, AKeysFileCannotWriteElsewhere) {
    ASSERT_TRUE(back_up(data, file, Now));
    const std::string good = without_digest(*read_file(keys));
    for (const char* name : {"../escaped", "pki/../../escaped", "pki/", "pki/..", "/tmp/escaped", "store/store.db", "nodes"}) {
        std::string bad = good;
        bad.replace(bad.find("pki/admin.crt"), std::string("pki/admin.crt").size(), name);
        ASSERT_TRUE(write_durably(keys, bad));
        const auto restored = restore(other, file, keys, Now);
        ASSERT_FALSE(restored) << name;
        EXPECT_EQ(restored.error().reason, Reason::BadRequest) << name;
        EXPECT_EQ(names(folder), (std::vector<std::string>{"b", "b.keys", "data"})) << name;
    }
    for (const char* text : {"", "[]", "{}", R"({"format":"porthole-keys/2","files":{}})", R"({"format":"porthole-keys/1","files":[]})"}) {
        ASSERT_TRUE(write_durably(keys, text));
        EXPECT_EQ(restore(other, file, keys, Now).error().reason, Reason::BadRequest) << text;
    }
}

}  // namespace
}  // namespace porthole::local_cluster
