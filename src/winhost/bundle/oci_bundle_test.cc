#include "winhost/bundle/oci_bundle.h"

#include <gtest/gtest.h>

#include <set>

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

OciBundle sample() {
    return {.rootfs = "/data/c/1/rootfs",
            .arguments = {"/porthole/init", "--socket", "/.ph/s"},
            .environment = {{"WINEPREFIX", "/wine"}},
            .hostname = "web",
            .network_namespace_path = "/run/netns/a",
            .ipc_namespace_path = "/proc/7/ns/ipc",
            .uts_namespace_path = "/proc/7/ns/uts",
            .cgroup_path = "/porthole/w1/1",
            .mounts = {{"/data/v", "/wine/drive_c/data", true}},
            .limits = {.memory_bytes = 64 << 20, .cpu_quota_us = 25'000, .processes = 100}};
}

const schema::Value* find_named(const schema::Value& list, std::string_view key, std::string_view name) {
    for (const schema::Value& item : list.as_array())
        if (item.string_at({key}) == name) return &item;
    return nullptr;
}

TEST(OciBundle, JoinsTheNamespacesOfThePodAndKeepsItsOwn) {
    const auto config = schema::parse_json(make_oci_config(sample()));
    ASSERT_TRUE(config);
    const schema::Value& spaces = *config->at_path({"linux", "namespaces"});
    EXPECT_EQ(find_named(spaces, "type", "network")->string_at({"path"}), "/run/netns/a");
    EXPECT_EQ(find_named(spaces, "type", "ipc")->string_at({"path"}), "/proc/7/ns/ipc");
    EXPECT_EQ(find_named(spaces, "type", "pid")->find("path"), nullptr);
    EXPECT_EQ(find_named(spaces, "type", "mount")->find("path"), nullptr);
    ASSERT_NE(find_named(spaces, "type", "cgroup"), nullptr) << "/proc/self/cgroup would tell of others on the machine";
    EXPECT_EQ(config->find("hostname"), nullptr) << "the name belongs to the pod's uts namespace";
}

TEST(OciBundle, NamesTheHostOnlyInAUtsNamespaceOfItsOwn) {
    OciBundle bundle = sample();
    bundle.uts_namespace_path.clear();
    const auto config = schema::parse_json(make_oci_config(bundle));
    EXPECT_EQ(config->string_at({"hostname"}), "web");
}

TEST(OciBundle, IsRootOfNothingOnTheMachineInAUserNamespace) {
    OciBundle bundle = sample();
    bundle.user_namespace = OciUserNamespace{"/proc/7/fd/9", 1'900'544'000};
    const auto config = schema::parse_json(make_oci_config(bundle));
    ASSERT_TRUE(config);
    EXPECT_EQ(find_named(*config->at_path({"linux", "namespaces"}), "type", "user")->string_at({"path"}), "/proc/./7/fd/9")
        << "runc must not take it for process 7's own";
    for (const char* ids : {"uidMappings", "gidMappings"})
        EXPECT_EQ(schema::to_json(*config->at_path({"linux", ids})), R"([{"containerID":0,"hostID":1900544000,"size":65536}])");
    EXPECT_EQ(config->string_at({"root", "path"}), ReachableRoot);
    const auto without = schema::parse_json(make_oci_config(sample()));
    EXPECT_EQ(find_named(*without->at_path({"linux", "namespaces"}), "type", "user"), nullptr);
    EXPECT_EQ(without->string_at({"root", "path"}), "/data/c/1/rootfs");
}

TEST(OciBundle, LimitsWhatIsLimited) {
    const auto config = schema::parse_json(make_oci_config(sample()));
    EXPECT_EQ(config->at_path({"linux", "resources", "memory", "limit"})->as_int(), 64 << 20);
    EXPECT_EQ(config->at_path({"linux", "resources", "cpu", "quota"})->as_int(), 25'000);
    EXPECT_EQ(config->at_path({"linux", "resources", "pids", "limit"})->as_int(), 100);
    OciBundle free = sample();
    free.limits = {};
    const auto unlimited = schema::parse_json(make_oci_config(free));
    for (const char* limited : {"memory", "cpu", "pids"}) EXPECT_FALSE(unlimited->at_path({"linux", "resources", limited})) << limited;
}

TEST(OciBundle, MountsReadOnlyWhereAsked) {
    const auto config = schema::parse_json(make_oci_config(sample()));
    const schema::Value* mount = find_named(*config->find("mounts"), "destination", "/wine/drive_c/data");
    ASSERT_NE(mount, nullptr);
    EXPECT_EQ(schema::to_json(*mount->find("options")), R"(["rbind","ro","nosuid","nodev","private"])");
}

TEST(OciBundle, GivesAContainerNoPowerOverTheMachine) {
    const auto config = schema::parse_json(make_oci_config(sample()));
    EXPECT_EQ(schema::to_json(*config->at_path({"process", "capabilities", "bounding"})), R"(["CAP_NET_BIND_SERVICE","CAP_NET_RAW"])");
    EXPECT_TRUE(config->at_path({"process", "noNewPrivileges"})->as_bool());
    const std::string devices = schema::to_json(*config->at_path({"linux", "resources", "devices"}));
    EXPECT_EQ(devices, R"([{"allow":false,"access":"rwm"}])");
    OciBundle sandbox = sample();
    sandbox.with_devices = false;
    const auto pause = schema::parse_json(make_oci_config(sandbox));
    EXPECT_EQ(schema::to_json(*pause->at_path({"process", "capabilities", "bounding"})), "[]");
}

TEST(OciBundle, AllowsNoSystemCallThatChangesTheMachine) {
    const auto config = schema::parse_json(make_oci_config(sample()));
    const schema::Value* profile = config->at_path({"linux", "seccomp"});
    ASSERT_NE(profile, nullptr);
    EXPECT_EQ(profile->string_at({"defaultAction"}), "SCMP_ACT_ERRNO");
    std::set<std::string> plain, conditional;
    for (const schema::Value& rule : profile->find("syscalls")->as_array()) {
        if (rule.string_at({"action"}) != "SCMP_ACT_ALLOW") continue;
        for (const schema::Value& name : rule.find("names")->as_array())
            EXPECT_TRUE((rule.find("args") ? conditional : plain).insert(std::string(name.as_string())).second || rule.find("args"));
    }
    EXPECT_EQ(conditional, (std::set<std::string>{"clone", "personality", "socket"}));
    for (const char* name :
         {"add_key",    "bpf",        "chroot", "clone3",        "delete_module", "fsmount",           "init_module", "io_uring_setup",
          "keyctl",     "kexec_load", "mount",  "mount_setattr", "move_mount",    "open_by_handle_at", "open_tree",   "perf_event_open",
          "pivot_root", "reboot",     "setns",  "settimeofday",  "swapon",        "umount2",           "unshare",     "userfaultfd"})
        EXPECT_FALSE(plain.contains(name)) << name;
    EXPECT_EQ(schema::to_json(*profile->find("architectures")), R"(["SCMP_ARCH_X86_64"])");
    OciBundle with_32_bit = sample();
    with_32_bit.with_32_bit = true;
    const auto other = schema::parse_json(make_oci_config(with_32_bit));
    EXPECT_EQ(schema::to_json(*other->at_path({"linux", "seccomp", "architectures"})), R"(["SCMP_ARCH_X86_64","SCMP_ARCH_X86"])");
}

}  // namespace
}  // namespace porthole::winhost
