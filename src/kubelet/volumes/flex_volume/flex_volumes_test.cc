#include "kubelet/volumes/flex_volume/flex_volumes.h"

#include "base/strings.h"
#include "kubelet/volumes/volumes_fixture.h"

namespace porthole::kubelet {
namespace {

constexpr const char* Drivers = "/drivers/";
constexpr const char* Target = "/k/pods/u/volumes/example.com~disks/v";

/// The node's programs: a driver that supports what the test says, and mounts; and mount, blkid and so on, which succeed.
struct FakeDriver final : ProcessRunner {
    explicit FakeDriver(sim::FakeMounter& of) : mounter(of) {}
    Task<CommandOutput> run(Command command) override {
        const std::string program = command.arguments.at(0), verb = command.arguments.size() > 1 ? command.arguments[1] : "";
        calls.push_back(join(command.arguments, " "));
        if (!program.starts_with(Drivers) && !program.contains("powershell") && !program.contains(".exe")) {
            if (program == "mount") mounter.mounts[command.arguments.back()] = *(command.arguments.end() - 2);
            if (program == "blkid") co_return CommandOutput{.output = "TYPE=ext4\n"};
            co_return CommandOutput{};
        }
        const std::string path = command.arguments.size() > 2 ? command.arguments[2] : "";
        const auto found = answers.find(verb == "-NoProfile" ? command.arguments.at(7) : verb);
        if (found == answers.end()) co_return CommandOutput{.exit_code = 1, .output = R"({"status":"Not supported"})"};
        if (found->second.contains("Success") && (verb == "mount" || verb == "mountdevice")) mounter.mounts[path] = "driver";
        if (verb == "unmount" || verb == "unmountdevice") mounter.mounts.erase(path);
        co_return CommandOutput{.exit_code = found->second.contains("Success") ? 0 : 1, .output = found->second};
    }
    std::vector<std::string> verbs() const {
        std::vector<std::string> all;
        for (const std::string& call : calls)
            all.push_back(call.starts_with(Drivers) ? split(call, ' ').at(1) : split(call, ' ').at(0) + "!");
        return all;
    }
    sim::FakeMounter& mounter;
    std::map<std::string, std::string> answers;
    std::vector<std::string> calls;
};

struct FlexVolumesTest : VolumesTest {
    FlexVolumesTest() {
        (void)files.create_directories("/drivers/example.com~disks", 0755);
        (void)files.write("/drivers/example.com~disks/disks", "", 0755);
        mounting_only();
        host.programs = &driver;
        start();
    }
    void start(bool windows = false) {
        host.windows = windows;
        flex.emplace(host, client, FlexVolumes::Settings{"/k", windows ? "C:\\drivers\\" : Drivers, "n1"});
        with_flex.emplace(VolumeDependencies{host, volume_api, {.flex = &*flex}}, Logger(make_null_sink(), ""), "/k");
    }
    void mounting_only() {
        driver.answers = {{"init", R"({"status":"Success","capabilities":{"attach":false}})"},
                          {"mount", R"({"status":"Success"})"},
                          {"unmount", R"({"status":"Success"})"}};
    }
    void attaching() {
        driver.answers = {{"init", R"({"status":"Success"})"},
                          {"attach", R"({"status":"Success","device":"/dev/a"})"},
                          {"waitforattach", R"({"status":"Success","device":"/dev/b"})"},
                          {"detach", R"({"status":"Success"})"}};
    }
    static std::string volume(const std::string& more = "") {
        return R"("volumes":[{"name":"v","flexVolume":{"driver":"example.com/disks","options":{"size":"5"})" + more + "}}]";
    }
    Result<MountedVolume> set_up(const std::string& spec, const std::string& uid = "u") {
        pod = std::make_shared<core::Pod>(
            schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":")" + uid +
                                           R"("},"spec":{"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/v"}]}],)" +
                                           spec + "}}")
                .value());
        TRY(const MountedVolumes mounted, porthole::sim::run(loop, with_flex->set_up(pod, allocatable)));
        return mounted.at("v");
    }
    Result<void> tear_down(const std::string& uid = "u") { return porthole::sim::run(loop, with_flex->tear_down(uid)); }

    FakeDriver driver{mounter};
    std::optional<FlexVolumes> flex;
    std::optional<VolumeManager> with_flex;
};

// STO-21
TEST_F(FlexVolumesTest, ADriverMountsAndUnmountsItsVolume) {
    const auto mounted = set_up(volume(R"(,"fsType":"xfs","readOnly":true)"));
    ASSERT_TRUE(mounted) << mounted.error().message;
    EXPECT_EQ(mounted->path, Target);
    EXPECT_TRUE(mounted->read_only);
    ASSERT_EQ(driver.calls.size(), 2u);
    EXPECT_EQ(driver.calls[0], "/drivers/example.com~disks/disks init");
    EXPECT_EQ(driver.calls[1], std::string("/drivers/example.com~disks/disks mount ") + Target +
                                   R"( {"kubernetes.io/fsType":"xfs","kubernetes.io/readwrite":"ro","kubernetes.io/pvOrVolumeName":"v",)"
                                   R"("kubernetes.io/pod.name":"p","kubernetes.io/pod.namespace":"ns","kubernetes.io/pod.uid":"u",)"
                                   R"("kubernetes.io/serviceAccount.name":"","size":"5"})");
    EXPECT_TRUE(set_up(volume(R"(,"fsType":"xfs","readOnly":true)")));
    EXPECT_EQ(driver.calls.size(), 2u) << "mounted once";
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(driver.calls.back(), std::string("/drivers/example.com~disks/disks unmount ") + Target);
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

TEST_F(FlexVolumesTest, AKubeletThatStartsAgainTakesDownWhatTheOneBeforeSetUp) {
    ASSERT_TRUE(set_up(volume()));
    start();
    ASSERT_TRUE(set_up(volume()));
    EXPECT_THAT(driver.verbs(), testing::ElementsAre("init", "mount")) << "it is mounted already";
    start();
    EXPECT_TRUE(tear_down());
    EXPECT_TRUE(mounter.mounts.empty());
}

TEST_F(FlexVolumesTest, WhatADriverDoesNotSupportTheKubeletDoes) {
    attaching();
    ASSERT_TRUE(set_up(volume()));
    const std::string device = "/k/plugins/kubernetes.io/flexvolume/example.com~disks/";
    EXPECT_EQ(mounter.mounts.size(), 2u);
    EXPECT_THAT(driver.verbs(),
                testing::ElementsAre("init", "attach", "waitforattach", "mountdevice", "blkid!", "fsck!", "mount!", "mount"));
    EXPECT_THAT(mounter.mounts.at(Target), testing::StartsWith(device)) << "bound from the device's mount";
    ASSERT_TRUE(set_up(volume(), "u2"));
    EXPECT_EQ(std::ranges::count(driver.verbs(), "attach"), 1) << "pods share it";
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(std::ranges::count(driver.verbs(), "detach"), 0);
    EXPECT_TRUE(tear_down("u2"));
    EXPECT_EQ(driver.calls.back(), "/drivers/example.com~disks/disks detach v n1");
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_TRUE(files.list(device.substr(0, device.size() - 1)).value().empty());
}

TEST_F(FlexVolumesTest, ADriverThatDoesEverythingIsAskedInUpstreamsOrder) {
    attaching();
    for (const char* verb : {"mountdevice", "mount", "unmount", "unmountdevice"}) driver.answers[verb] = R"({"status":"Success"})";
    ASSERT_TRUE(set_up(volume()));
    ASSERT_TRUE(tear_down());
    EXPECT_THAT(driver.verbs(),
                testing::ElementsAre("init", "attach", "waitforattach", "mountdevice", "mount", "unmount", "unmountdevice", "detach"));
    EXPECT_THAT(driver.calls[2], HasSubstr("waitforattach /dev/a {"));
    EXPECT_THAT(driver.calls[3], HasSubstr("/mount /dev/b {"));
}

TEST_F(FlexVolumesTest, AClaimsVolumeBringsItsSecretWhichOnlyMountGets) {
    attaching();
    core::Secret secret;
    secret.metadata.name = "s";
    secret.metadata.namespace_ = "other";
    secret.type = "example.com/disks";
    secret.data = {{"key", "word"}};
    api.put(secret);
    core::PersistentVolume volume;
    auto& source = volume.spec.flex_volume.emplace();
    source.driver = "example.com/disks";
    source.secret_ref.emplace().name = "s";
    source.secret_ref->namespace_ = "other";
    put_claim_of(volume);
    const auto mounted = set_up(R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data","readOnly":true}}])");
    ASSERT_TRUE(mounted) << mounted.error().message;
    EXPECT_EQ(mounted->path, "/k/pods/u/volumes/example.com~disks/pv1");
    EXPECT_EQ(mounted->claim, "data");
    EXPECT_TRUE(mounted->read_only);
    for (const std::string& call : driver.calls)
        EXPECT_EQ(call.contains(R"("kubernetes.io/secret/key":"d29yZA==")"), call.contains("disks mount ")) << call;
}

TEST_F(FlexVolumesTest, ASecretOfAnotherTypeIsNotGiven) {
    core::Secret secret;
    secret.metadata.name = "s";
    secret.metadata.namespace_ = "ns";
    secret.type = "Opaque";
    api.put(secret);
    EXPECT_THAT(set_up(volume(R"(,"secretRef":{"name":"s"})")).error().message, HasSubstr("cannot get secret of type Opaque"));
}

TEST_F(FlexVolumesTest, TheEventSaysWhatIsMissingOrFailed) {
    (void)files.remove("/drivers/example.com~disks/disks");
    const std::string none =
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: "
        "failed to get Plugin from volumeSpec for volume \"v\" err=no volume plugin matched: ";
    EXPECT_EQ(set_up(volume()).error().message, none + "the node has no FlexVolume driver /drivers/example.com~disks/disks");
    (void)files.write("/drivers/example.com~disks/disks", "", 0755);
    driver.answers["init"] = R"({"status":"Failure","message":"no kernel module"})";
    EXPECT_EQ(set_up(volume()).error().message, none + "init command failed, status: Failure, reason: no kernel module");
    mounting_only();
    driver.answers["mount"] = R"({"status":"Failure","message":"no server"})";
    EXPECT_EQ(set_up(volume()).error().message,
              "MountVolume.SetUp failed for volume \"v\" : mount command failed, status: Failure, reason: no server");
    attaching();
    driver.answers["attach"] = R"({"status":"Failure","message":"in use"})";
    EXPECT_EQ(set_up(volume()).error().message,
              "AttachVolume.Attach failed for volume \"v\" : attach command failed, status: Failure, reason: in use");
}

TEST_F(FlexVolumesTest, WhatCannotBeDetachedKeepsItsPod) {
    attaching();
    ASSERT_TRUE(set_up(volume()));
    driver.answers["detach"] = R"({"status":"Failure","message":"busy"})";
    EXPECT_THAT(tear_down().error().message, HasSubstr("detach command failed, status: Failure, reason: busy"));
    EXPECT_TRUE(files.exists("/k/pods/u"));
    driver.answers["detach"] = R"({"status":"Success"})";
    EXPECT_TRUE(tear_down());
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

// STO-21
TEST_F(FlexVolumesTest, OnWindowsAProgramOrAPowerShellScriptIsRunAndNoBatchFile) {
    const auto called = [&](const std::string& file) -> std::string {
        porthole::sim::MemoryFileSystem drive(loop);
        (void)drive.create_directories("C:\\drivers\\example.com~smb.cmd", 0755);
        (void)drive.write("C:\\drivers\\example.com~smb.cmd\\" + file, "", 0755);
        const auto found = FlexDriver::find("C:\\drivers\\", "example.com/smb.cmd", true, drive);
        if (!found) return found.error().message;
        driver.calls.clear();
        (void)porthole::sim::run(loop, found->call({"init"}, driver));
        return driver.calls.at(0);
    };
    EXPECT_EQ(called("smb.exe"), "C:\\drivers\\example.com~smb.cmd\\smb.exe init");
    EXPECT_EQ(called("smb.ps1"),
              "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File C:\\drivers\\example.com~smb.cmd\\smb.ps1 init");
    EXPECT_EQ(called("smb.cmd"), "the node has no FlexVolume driver C:\\drivers\\example.com~smb.cmd\\smb.exe");
}

TEST(FlexDriver, NamesThatLeadElsewhereAreNone) {
    for (const char* name : {"example.com/disks", "disks", "a_b/c-d.e"}) EXPECT_TRUE(is_flex_driver_name(name)) << name;
    for (const char* name : {"", "/", "a/", "/b", "../b", "a/..", "a/b/c", "a~b", "a b", "a\\b", ".a/b"})
        EXPECT_FALSE(is_flex_driver_name(name)) << name;
}

TEST(FlexAnswer, IsReadAsUpstreamReadsIt) {
    const auto answer = parse_flex_answer("init", R"({"Status":"Success","Capabilities":{"ATTACH":false,"fsgroup":false,"x":1}})").value();
    EXPECT_FALSE(answer.attach);
    EXPECT_FALSE(answer.gives_group);
    EXPECT_TRUE(parse_flex_answer("init", R"({"status":"Success"})")->attach);
    EXPECT_FALSE(parse_flex_answer("mount", R"({"status":"Not supported"})")->supported);
    EXPECT_EQ(parse_flex_answer("mount", R"({"status":"Failure","message":"a\nb"})").error().message,
              "mount command failed, status: Failure, reason: a b");
}

TEST(FlexAnswer, WhatIsNoneIsRefused) {
    for (const char* output :
         {"", "{", "[]", "ok", R"({"status":1})", R"({"status":"Success","device":"sda"})", R"({"status":"Success","device":7})",
          R"({"status":"Success","capabilities":[]})", R"({"status":"Success","capabilities":{"attach":"no"}})"})
        EXPECT_EQ(parse_flex_answer("attach", output).error().reason, Reason::BadRequest) << output;
    EXPECT_EQ(parse_flex_answer("attach", std::string(FlexAnswer::Largest + 1, ' ')).error().reason, Reason::BadRequest);
    const std::string large = R"({"status":"Failure","message":")" + std::string(5000, 'x') + "\"}";
    EXPECT_LT(parse_flex_answer("attach", large).error().message.size(), 1200u);
}

}  // namespace
}  // namespace porthole::kubelet
