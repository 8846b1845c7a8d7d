#include "kubelet/volumes/selinux/selinux_contexts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/volumes/selinux/selinux_fixture.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using testing::HasSubstr;

constexpr const char *Label1 = "system_u:object_r:container_file_t:s0:c1", *Recursive = R"("seLinuxChangePolicy":"Recursive")",
                     *MountOption = R"("seLinuxChangePolicy":"MountOption")";

struct SelinuxContextsTest : testing::Test {
    SelinuxContextsTest() { restart(false); }
    void restart(bool all_access_modes) {
        put_selinux(files, SelinuxMounts);
        contexts = std::make_unique<SelinuxContexts>(Selinux::find(files), all_access_modes);
    }
    /// The context, or the error.
    std::string admit(const core::Pod& pod, const SelinuxContexts::Volume& volume) {
        const auto admitted = contexts->admit(pod, "v", volume);
        return admitted ? *admitted : admitted.error().message;
    }
    static SelinuxContexts::Volume volume(const std::string& mode, bool takes_context = true) {
        return {.name = "pv1", .plugin = "kubernetes.io/csi/d", .access_modes = {mode}, .takes_context = takes_context};
    }
    std::string metrics() const {
        std::string text;
        contexts->append_metrics(text);
        return text;
    }
    void expect_count(const std::string& name, const std::string& labels, int count) const {
        EXPECT_THAT(metrics(), HasSubstr("volume_manager_selinux_" + name + "{" + labels + "} " + std::to_string(count) + "\n"));
    }

    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    std::unique_ptr<SelinuxContexts> contexts;
};

TEST_F(SelinuxContextsTest, AVolumeForOnePodIsMountedWithItsLabelIfItsPluginCan) {
    const struct {
        const char* name;
        core::Pod pod;
        SelinuxContexts::Volume volume;
        bool all_modes;
        const char* context;
    } rows[] = {
        {"for one pod", selinux_pod("u", "s0:c1"), volume("ReadWriteOncePod"), false, Label1},
        {"for one node", selinux_pod("u", "s0:c1"), volume("ReadWriteOnce"), false, ""},
        {"for one node, with SELinuxMount", selinux_pod("u", "s0:c1"), volume("ReadWriteOnce"), true, Label1},
        {"a plugin that cannot", selinux_pod("u", "s0:c1"), volume("ReadWriteOncePod", false), false, ""},
        {"not of a claim", selinux_pod("u", "s0:c1"), {"u/v", "kubernetes.io/empty-dir", {}, true}, true, ""},
        {"no label", selinux_pod("u", ""), volume("ReadWriteOncePod"), false, ""},
        {"relabelled recursively", selinux_pod("u", "s0:c1", Recursive), volume("ReadWriteOncePod"), true, ""},
        {"by mount option", selinux_pod("u", "s0:c1", MountOption), volume("ReadWriteOncePod"), false, Label1},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        restart(row.all_modes);
        EXPECT_EQ(admit(row.pod, row.volume), row.context);
    }
}

TEST_F(SelinuxContextsTest, PodsThatNeedOtherLabelsWaitUntilTheVolumeIsFree) {
    const SelinuxContexts::Volume once = volume("ReadWriteOncePod");
    ASSERT_EQ(admit(selinux_pod("a", "s0:c1"), once), Label1);
    ASSERT_EQ(admit(selinux_pod("a", "s0:c1"), once), Label1) << "a later sync";
    const std::string refusal = std::string("conflicting SELinux labels of volume pv1: \"") + Label1 + "\" and ";
    EXPECT_EQ(admit(selinux_pod("b", "s0:c2"), once), refusal + "\"system_u:object_r:container_file_t:s0:c2\"");
    EXPECT_EQ(admit(selinux_pod("b", "s0:c1", Recursive), once), refusal + "\"\"");
    const std::string labels = R"(access_mode="RWOP",volume_plugin="kubernetes.io/csi/d")";
    expect_count("volumes_admitted_total", labels, 1);
    expect_count("volume_context_mismatch_errors_total", labels, 2);
    contexts->forget_pod("a");
    EXPECT_EQ(admit(selinux_pod("b", "s0:c2"), once), "system_u:object_r:container_file_t:s0:c2");
}

TEST_F(SelinuxContextsTest, WhatIsMountedWithoutAContextIsOnlyCounted) {
    const SelinuxContexts::Volume shared = volume("ReadWriteMany");
    EXPECT_EQ(admit(selinux_pod("a", "s0:c1"), shared), "");
    EXPECT_EQ(admit(selinux_pod("b", "s0:c2"), shared), "");
    EXPECT_EQ(admit(selinux_pod("b", "s0:c2"), shared), "") << "once for each pod";
    expect_count("volume_context_mismatch_warnings_total", R"(access_mode="RWX",volume_plugin="kubernetes.io/csi/d")", 1);
    EXPECT_THAT(metrics(), testing::Not(HasSubstr("errors_total{")));
}

TEST_F(SelinuxContextsTest, ContainersOfAPodMustAgree) {
    core::Pod pod = selinux_pod("a", "s0:c1");
    pod.spec.init_containers = pod.spec.containers;
    pod.spec.init_containers[0].name = "i";
    pod.spec.init_containers[0].security_context.emplace().se_linux_options.emplace().level = "s0:c2";
    EXPECT_EQ(admit(pod, volume("ReadWriteOncePod", false)),
              std::string("multiple SELinux labels found: ") + Label1 + ",system_u:object_r:container_file_t:s0:c2");
    expect_count("pod_context_mismatch_errors_total", R"(access_mode="RWOP")", 1);
    EXPECT_EQ(admit(pod, volume("ReadOnlyMany")), "");
    expect_count("pod_context_mismatch_warnings_total", R"(access_mode="ROX")", 1);
    pod.metadata.uid = "b";
    pod.spec.init_containers[0].volume_mounts.clear();
    EXPECT_EQ(admit(pod, {.name = "pv2", .plugin = "p", .access_modes = {"ReadWriteOncePod"}, .takes_context = true}), Label1)
        << "one that does not have the volume does not count";
}

TEST_F(SelinuxContextsTest, OptionsThatAreNotValidFailThePod) {
    EXPECT_EQ(admit(selinux_pod("a", "s0 x"), volume("ReadWriteOncePod")),
              "failed to construct SELinux label from context \"s0 x\": Invalid label");
    expect_count("container_errors_total", R"(access_mode="RWOP")", 1);
    EXPECT_EQ(admit(selinux_pod("b", "s0 x"), volume("ReadWriteOnce")), "");
    expect_count("container_warnings_total", R"(access_mode="RWO")", 1);
}

TEST_F(SelinuxContextsTest, SeriesAreBounded) {
    for (std::size_t i = 0; i < SelinuxContexts::MostSeries + 5; ++i) {
        const std::string n = std::to_string(i);
        ASSERT_EQ(admit(selinux_pod(n, "s0:c1"), {.name = n, .plugin = n, .access_modes = {"ReadWriteOncePod"}, .takes_context = true}),
                  Label1);
    }
    const std::string text = metrics();
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), SelinuxContexts::MostSeries + 2) << "and the lines HELP and TYPE";
}

}  // namespace
}  // namespace porthole::kubelet
