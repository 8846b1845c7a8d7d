#include "kubelet/devices/cdi_specs.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

struct CdiSpecs : testing::Test {
    CdiSpecs() {
        EXPECT_TRUE(files.create_directories("/etc/cdi", 0755));
        EXPECT_TRUE(files.create_directories("/etc/cdi-not", 0755));
        EXPECT_TRUE(files.create_directories("/var/run/cdi", 0755));
    }
    void write(const std::string& path, const std::string& text) { EXPECT_TRUE(files.write(path, text, 0644)); }
    std::string add(const std::vector<std::string>& ids) {
        const auto added = add_cdi_devices(files, ids, config);
        return added ? "" : added.error().message;
    }
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    api::cri::v1::ContainerConfig config;
};

TEST_F(CdiSpecs, AddsWhatTheyAskFor) {
    write("/etc/cdi/gpu.yaml", R"(
cdiVersion: 0.6.0
kind: example.com/gpu
containerEdits: {env: [DRIVER=1]}
devices:
- name: one
  containerEdits:
    env: [GPU=one]
    deviceNodes: [{path: /dev/gpu0}, {path: /dev/ctl, hostPath: /dev/gpuctl, permissions: r}]
    mounts: [{hostPath: /usr/lib/gpu, containerPath: /lib/gpu, options: [ro, bind]}]
- name: two
  containerEdits: {env: ["OTHER=a=b"]}
)");
    write("/etc/cdi/broken.json", "{");
    config.envs.emplace_back().key = "GPU";
    EXPECT_EQ(add({"example.com/gpu=one", "example.com/gpu=two"}), "");
    std::string text;
    for (const auto& one : config.envs) text += one.key + "=" + one.value + " ";
    for (const auto& one : config.devices) text += one.container_path + ":" + one.host_path + ":" + one.permissions + " ";
    for (const auto& one : config.mounts) text += one.container_path + ":" + one.host_path + (one.readonly ? ":ro" : "");
    EXPECT_EQ(text, "DRIVER=1 GPU=one OTHER=a=b /dev/gpu0:/dev/gpu0:rwm /dev/ctl:/dev/gpuctl:r /lib/gpu:/usr/lib/gpu:ro");
}

TEST_F(CdiSpecs, OfTheRunningSystemCount) {
    write("/etc/cdi/a.json", R"({"kind": "e.com/c", "devices": [{"name": "d", "containerEdits": {"env": ["FROM=etc"]}}]})");
    write("/var/run/cdi/b.json", R"({"kind": "e.com/c", "devices": [{"name": "d", "containerEdits": {"env": ["FROM=run"]}}]})");
    EXPECT_EQ(add({"e.com/c=d"}), "");
    EXPECT_EQ(config.envs.at(0).value, "run");
}

TEST_F(CdiSpecs, OfOneFolderDoNotHaveADeviceTwice) {
    write("/etc/cdi/a.json", R"({"kind": "e.com/c", "devices": [{"name": "d"}, {"name": "e"}]})");
    write("/etc/cdi/b.json", R"({"kind": "e.com/c", "devices": [{"name": "d"}]})");
    EXPECT_EQ(add({"e.com/c=d"}), "CDI specification /etc/cdi/b.json: device e.com/c=d is in /etc/cdi/a.json too");
    EXPECT_EQ(add({"e.com/c=e"}), "");
}

TEST_F(CdiSpecs, AreRegularFilesAndNotTooMany) {
    const std::string spec = R"({"kind": "e.com/c", "devices": [{"name": "d"}]})";
    write("/etc/cdi-not/a.json", spec);
    EXPECT_TRUE(files.create_symlink("/etc/cdi-not/a.json", "/etc/cdi/a.json"));
    EXPECT_EQ(add({"e.com/c=d"}), "unresolvable CDI devices e.com/c=d");
    for (int i = 0; i < 1024; ++i) write("/etc/cdi/b" + std::to_string(i) + ".json", "{");
    write("/etc/cdi/c.json", spec);
    EXPECT_EQ(add({"e.com/c=d"}), "unresolvable CDI devices e.com/c=d");
}

TEST_F(CdiSpecs, SayWhatIsAtFault) {
    EXPECT_EQ(add({"e.com/c=d"}), "unresolvable CDI devices e.com/c=d");
    EXPECT_EQ(add({"nonsense"}), "unresolvable CDI devices nonsense");
    write("/etc/cdi/a.json", R"({"kind": "e.com/c", "devices": [{"name": "d", "containerEdits": {"hooks": [{"path": "/x"}]}},
        {"name": "e", "containerEdits": {"env": ["x"]}}, {"name": "f", "containerEdits": {"deviceNodes": [{}]}}]})");
    EXPECT_EQ(add({"e.com/c=d"}),
              "CDI specification /etc/cdi/a.json: hooks of containerEdits needs a container runtime that knows CDI: containerd 2.0");
    EXPECT_EQ(add({"e.com/c=e"}), "CDI specification /etc/cdi/a.json: a variable is not NAME=VALUE");
    EXPECT_EQ(add({"e.com/c=f"}), "CDI specification /etc/cdi/a.json: a device node has no path");
}

TEST_F(CdiSpecs, RefuseWhatCriCannotSay) {
    const auto refusal = [&](const std::string& edits) {
        write("/etc/cdi/a.json", R"({"kind": "e.com/c", "devices": [{"name": "d", "containerEdits": )" + edits + "}]}");
        const std::string text = add({"e.com/c=d"});
        const std::string before = "CDI specification /etc/cdi/a.json: ",
                          after = " needs a container runtime that knows CDI: containerd 2.0";
        if (text.empty()) return text;
        EXPECT_TRUE(text.starts_with(before) && text.ends_with(after)) << text;
        return text.substr(before.size(), text.size() - before.size() - after.size());
    };
    EXPECT_EQ(refusal(R"({"additionalGids": [5]})"), "additionalGids of containerEdits");
    EXPECT_EQ(refusal(R"({"deviceNodes": [{"path": "/dev/a", "fileMode": 438}]})"), "fileMode of a device node");
    EXPECT_EQ(refusal(R"({"deviceNodes": [{"path": "/dev/a", "uid": 1}]})"), "uid of a device node");
    EXPECT_EQ(refusal(R"({"deviceNodes": [{"path": "/dev/a", "type": "c", "major": 1, "minor": 3}]})"), "");
    EXPECT_EQ(refusal(R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "tmpfs"}]})"), "type of a mount");
    EXPECT_EQ(refusal(R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["rbind", "noexec"]}]})"),
              "option \"noexec\" of a mount");
}

TEST(RuntimeKnowsCdi, FromContainerd2On) {
    EXPECT_FALSE(runtime_knows_cdi("containerd://1.6.20~ds1"));
    EXPECT_FALSE(runtime_knows_cdi("containerd://1.7.24"));
    EXPECT_TRUE(runtime_knows_cdi("containerd://2.0.5"));
    EXPECT_TRUE(runtime_knows_cdi("cri-o://1.32.0"));
    EXPECT_TRUE(runtime_knows_cdi(""));
}

}  // namespace
}  // namespace porthole::kubelet
