#include "kubelet/user_namespaces/user_namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using testing::HasSubstr;

struct UserNamespacesTest : testing::Test {
    UserNamespacesTest() {
        for (const char* uid : {"a", "b", "c"}) EXPECT_TRUE(files.create_directories(folder(uid), 0750));
    }
    static std::string folder(const std::string& uid) { return "/var/lib/kubelet/pods/" + uid; }
    /// As a kubelet that starts: with what is on the disk.
    UserNamespaces started() {
        UserNamespaces users(files, random, Logger(make_null_sink(), "users"), settings);
        users.restore(*files.list("/var/lib/kubelet/pods"));
        return users;
    }
    void record(const std::string& uid, const std::string& text) { ASSERT_TRUE(files.write(folder(uid) + "/userns", text, 0600)); }
    void record(const std::string& uid, std::uint64_t first, std::uint64_t length = 65536, int inside = 0) {
        const std::string list = R"([{"hostId":)" + std::to_string(first) + R"(,"containerId":)" + std::to_string(inside) +
                                 R"(,"length":)" + std::to_string(length) + "}]";
        record(uid, R"({"uidMappings":)" + list + R"(,"gidMappings":)" + list + "}");
    }
    void give_node(const std::string& users, const std::string& groups) {
        ASSERT_TRUE(files.create_directories("/etc", 0755));
        ASSERT_TRUE(files.write("/etc/subuid", users, 0644));
        ASSERT_TRUE(files.write("/etc/subgid", groups, 0644));
    }
    std::string refusal() {
        const auto given = started().ensure("c");
        return given ? "" : given.error().message;
    }

    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    SeededRandom random{3};
    UserNamespaces::Settings settings{.pods_directory = "/var/lib/kubelet/pods"};
};

TEST_F(UserNamespacesTest, EachPodHasIdsOfItsOwnAboveTheNodes) {
    UserNamespaces users = started();
    const IdRange one = *users.ensure("a"), two = *users.ensure("b");
    for (const IdRange& ids : {one, two}) {
        EXPECT_EQ(ids.length, 65536u);
        EXPECT_EQ(ids.first % 65536, 0u);
        EXPECT_GE(ids.first, 65536u);
        EXPECT_LT(ids.end(), 1ULL << 32);
    }
    EXPECT_FALSE(one.overlaps(two));
    EXPECT_EQ(*users.ensure("a"), one) << "it keeps them";
    EXPECT_EQ(*users.find("b"), two);
    EXPECT_EQ(users.find("c").error().reason, Reason::NotFound);
}

TEST_F(UserNamespacesTest, TheyOutliveTheKubeletInUpstreamsFile) {
    const IdRange ids = *started().ensure("a");
    const std::string mapping = R"([{"hostId":)" + std::to_string(ids.first) + R"(,"containerId":0,"length":65536}])";
    EXPECT_EQ(*files.read(folder("a") + "/userns"), R"({"uidMappings":)" + mapping + R"(,"gidMappings":)" + mapping + "}");
    EXPECT_EQ(*started().find("a"), ids);
}

TEST_F(UserNamespacesTest, PodsOfAnotherSettingKeepTheirIds) {
    record("a", 131072, 131072);
    UserNamespaces users = started();
    EXPECT_EQ(*users.find("a"), (IdRange{131072, 131072}));
}

TEST_F(UserNamespacesTest, WhatAPodHadIsForOthersOnceItIsGone) {
    give_node("kubelet:65536:131072\n", "kubelet:65536:131072\n");
    settings.max_pods = 2;
    UserNamespaces users = started();
    const IdRange one = *users.ensure("a");
    ASSERT_TRUE(users.ensure("b"));
    EXPECT_EQ(refusal(), "all 2 ranges of ids for user namespaces are in use");
    EXPECT_FALSE(files.exists(folder("c") + "/userns"));
    ASSERT_TRUE(files.remove_all(folder("a")));
    users.release("a");
    EXPECT_EQ(*users.ensure("c"), one);
    EXPECT_FALSE(users.find("a"));
}

TEST_F(UserNamespacesTest, NoIdsAreGivenWhileARecordCannotBeTrusted) {
    const struct {
        const char* name;
        std::function<void()> damage;
    } rows[] = {
        {"no JSON", [&] { record("a", "{"); }},
        {"empty", [&] { record("a", ""); }},
        {"ids of the node", [&] { record("a", 0); }},
        {"the last id", [&] { record("a", (1ULL << 32) - 65536); }},
        {"too few", [&] { record("a", 65536, 65535); }},
        {"root is not mapped", [&] { record("a", 65536, 65536, 1); }},
        {"groups are others",
         [&] {
             record("a", R"({"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],)"
                         R"("gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]})");
         }},
        {"another pod's", [&] { record("a", 131072 - 65536, 131072), record("b", 131072); }},
        {"a link",
         [&] {
             record("c", 65536);
             ASSERT_TRUE(files.rename(folder("c") + "/userns", "/elsewhere"));
             ASSERT_TRUE(files.create_symlink("/elsewhere", folder("a") + "/userns"));
         }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        row.damage();
        EXPECT_THAT(refusal(), HasSubstr("is damaged; delete that pod"));
        UserNamespaces users = started();
        for (const char* uid : {"a", "b"}) {
            (void)files.remove(folder(uid) + "/userns");
            users.release(uid);
        }
        EXPECT_TRUE(users.ensure("c")) << "until that pod is gone";
        ASSERT_TRUE(files.remove(folder("c") + "/userns"));
    }
}

TEST_F(UserNamespacesTest, TheNodeSaysWhichIdsArePods) {
    give_node("alice:100000:65536\nkubelet:655360:7208960\n", "kubelet:655360:7208960\n");
    const IdRange ids = *started().ensure("a");
    EXPECT_GE(ids.first, 655360u);
    EXPECT_LE(ids.end(), 655360u + 7208960u);
}

TEST_F(UserNamespacesTest, UnfitIdsOfTheNodeAreToldToThePodsThatNeedThem) {
    constexpr const char* Alike = "/etc/subuid and /etc/subgid must have one and the same line for the user kubelet";
    const struct {
        const char *users, *groups, *refusal;
    } rows[] = {
        {"kubelet:655360:7208960", "", Alike},
        {"kubelet:655360:7208960", "kubelet:655360:65536", Alike},
        {"kubelet:655360:7208960\nkubelet:65536:65536", "kubelet:655360:7208960\nkubelet:65536:65536", Alike},
        {"kubelet:655360", "kubelet:655360", "invalid line \"kubelet:655360\""},
        {"kubelet:x:7208960", "kubelet:x:7208960", "invalid line"},
        {"kubelet:0:7208960", "kubelet:0:7208960", "0:7208960 includes ids of the node's own users"},
        {"kubelet:100000:7208960", "kubelet:100000:7208960", "100000:7208960 does not begin and end at multiples of 65536"},
        {"kubelet:65536:7143424", "kubelet:65536:7143424", "65536:7143424 is not enough for 110 pods with 65536 each"},
        {"kubelet:4294901760:131072", "kubelet:4294901760:131072", "does not begin and end"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.users);
        give_node(row.users, row.groups);
        EXPECT_THAT(refusal(), HasSubstr(row.refusal));
    }
    settings.ids_per_pod = 1 << 30;
    give_node("", "");
    EXPECT_THAT(refusal(), HasSubstr("is not enough for 110 pods with 1073741824 each"));
}

}  // namespace
}  // namespace porthole::kubelet
