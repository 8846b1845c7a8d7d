#include "kubelet/volumes/selinux/selinux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/volumes/selinux/selinux_fixture.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

struct SelinuxTest : testing::Test {
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
};

TEST_F(SelinuxTest, IsFoundWhereAPolicyIsLoadedAndItsFileSystemIsWritable) {
    EXPECT_FALSE(Selinux::find(files)) << "a machine without it";
    const struct {
        const char *name, *mount;
        bool found;
    } rows[] = {
        {"writable", "24 22 0:20 / /sys/fs/selinux rw,nosuid - selinuxfs selinuxfs rw\n", true},
        {"elsewhere, with optional fields", "24 22 0:20 / /selinux rw shared:7 master:1 - selinuxfs none rw\n", true},
        {"read-only, as containers see it", "24 22 0:20 / /sys/fs/selinux ro - selinuxfs selinuxfs rw\n", false},
        {"not mounted", "22 1 8:1 / / rw - ext4 /dev/sda1 rw,seclabel\n", false},
        {"a line that is cut off", "24 22 0:20 / /sys/fs/selinux rw - selinuxfs\n", false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        put_selinux(files, row.mount);
        EXPECT_EQ(Selinux::find(files) != nullptr, row.found);
    }
    put_selinux(files, SelinuxMounts);
    ASSERT_TRUE(files.write("/proc/thread-self/attr/current", "kernel", 0644));
    EXPECT_FALSE(Selinux::find(files)) << "no policy is loaded";
}

TEST_F(SelinuxTest, FilesHaveTheLevelAndUserOfTheirContainer) {
    const struct {
        const char *name, *options, *label;
    } rows[] = {
        {"a level", R"({"level":"s0:c1,c2"})", "system_u:object_r:container_file_t:s0:c1,c2"},
        {"a type of processes", R"({"level":"s0:c1","type":"spc_t","role":"system_r"})", "system_u:object_r:container_file_t:s0:c1"},
        {"a user", R"({"level":"s0","user":"other_u"})", "other_u:object_r:container_file_t:s0"},
        {"no level: the runtime picks one", R"({"type":"container_t"})", ""},
        {"nothing", "{}", ""},
        {"more options of mount", R"({"level":"s0\",suid,dev,x=\""})", "Invalid label"},
    };
    put_selinux(files, SelinuxMounts);
    const auto selinux = Selinux::find(files);
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto label = selinux->file_label(schema::decode_json<core::SELinuxOptions>(row.options).value());
        EXPECT_EQ(label ? *label : label.error().message, row.label);
    }
}

TEST_F(SelinuxTest, LabelsOfContainersAreThePolicys) {
    core::SELinuxOptions options;
    const auto label = [&](const std::string& policy) {
        put_selinux(files, SelinuxMounts, policy);
        const auto made = Selinux::find(files)->file_label(options);
        return made ? *made : made.error().message;
    };
    options.type = "t";
    EXPECT_EQ(label("process=a:b:c\nfile=d:e:f\n"), "d:e:f") << "a policy without levels leaves none to pick";
    options.level = "s0";
    EXPECT_EQ(label(""), "") << "no labels for containers";
    EXPECT_EQ(label("process=a:b\nfile=d:e:f:s0\n"), "Invalid label");
    EXPECT_EQ(label("; process=x\n # file=x\n process = \"a:b:c:s0\"\nfile=d:e:f:s1\n"), "d:e:f:s0");
    ASSERT_TRUE(files.remove("/usr/share/containers/selinux/contexts"));
    ASSERT_TRUE(files.create_directories("/etc/selinux/targeted/contexts", 0755));
    ASSERT_TRUE(files.write("/etc/selinux/config", "# SELINUXTYPE=mls\nSELINUX=enforcing\nSELINUXTYPE=targeted\n", 0644));
    ASSERT_TRUE(files.write("/etc/selinux/targeted/contexts/lxc_contexts", "process=a:b:c:s0\nfile=g:h:i:s1\n", 0644));
    EXPECT_EQ(Selinux::find(files)->file_label(options).value(), "g:h:i:s0") << "without the package container-selinux";
}

TEST_F(SelinuxTest, TheNearestMountSaysWhetherFilesHaveLabels) {
    put_selinux(files, std::string(SelinuxMounts) +
                           "30 22 0:30 / /k/a rw - ext4 /dev/sdb rw\n"
                           "31 22 0:31 / /k/a rw - ext4 /dev/sdc rw,context=\"system_u:object_r:container_file_t:s0:c1,c2\"\n"
                           "32 22 0:32 / /k/my\\040dir/b rw,seclabel - nfs4 server:/ rw\n");
    for (const char* directory : {"/k/a", "/k/ab", "/k/my dir"}) ASSERT_TRUE(files.create_directories(directory, 0755));
    ASSERT_TRUE(files.create_symlink("/k", "/link"));
    const auto selinux = Selinux::find(files);
    EXPECT_TRUE(selinux->labels_files("/k/ab").value());
    EXPECT_FALSE(selinux->labels_files("/k/a").value()) << "the last one is on top";
    EXPECT_FALSE(selinux->labels_files("/link/a/c").value());
    EXPECT_TRUE(selinux->labels_files("/k/my dir/b").value()) << "which need not be there: only its directory is looked at";
    EXPECT_FALSE(selinux->labels_files("/none/x"));
}

}  // namespace
}  // namespace porthole::kubelet
