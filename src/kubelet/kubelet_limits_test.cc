// What images, files and the output of containers can make a node do or hold: bounds of docs/design/limits.md.
#include <algorithm>

#include "kubelet/kubelet_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t MiB = 1 << 20;

struct KubeletLimits : KubeletTest {
    std::int64_t pulls() const { return std::ranges::count(runtime.calls(), "PullImage"); }
    /// Pods of one container each, whose images are not on the node.
    void add_pods_of_other_images(int number) {
        for (int i = 0; i < number; ++i) {
            const std::string name = "p" + std::to_string(i);
            add(name, R"({"containers":[{"name":"a","image":")" + name + R"(:1"}]})");
        }
    }
    /// The message of the ended container of a pod that does not restart.
    std::string message_of_end(const std::string& name) {
        EXPECT_TRUE(until([&] { return pod(name).status.phase == "Failed"; }));
        return pod(name).status.container_statuses.at(0).state.terminated->message;
    }
    /// A pod whose container ends with an error. `prepare` is given the container while it runs.
    std::string message_after(const std::string& name, const std::string& more,
                              const std::function<void(const sim::FakeRuntime::Container&)>& prepare) {
        add(name, R"({"restartPolicy":"Never","containers":[{"name":"a","image":"image:1",)"
                  R"("terminationMessagePath":"/dev/termination-log")" +
                      more + "}]}");
        EXPECT_TRUE(until([&] { return ready(name); }));
        prepare(*runtime.find(name, "a"));
        runtime.exit(name, "a", 1);
        return message_of_end(name);
    }
    static std::string message_file(const sim::FakeRuntime::Container& container) {
        for (const cri::Mount& mount : container.config.mounts)
            if (mount.container_path == "/dev/termination-log") return mount.host_path;
        return "";
    }
};

TEST_F(KubeletLimits, OneImageIsPulledAtATime) {
    runtime.pull_time = 10s;
    add_pods_of_other_images(3);
    ASSERT_TRUE(until([&] { return pulls() == 1; }));
    loop.advance(9s);
    EXPECT_EQ(pulls(), 1);
    loop.advance(10s);
    EXPECT_EQ(pulls(), 2);
    EXPECT_TRUE(until([&] { return ready("p0") && ready("p1") && ready("p2"); }, 60s));
}

TEST_F(KubeletLimits, AsManyImagesArePulledAtATimeAsTheConfigurationSays) {
    stop();
    parallel_image_pulls = 3;
    start();
    runtime.pull_time = 10s;
    add_pods_of_other_images(5);
    ASSERT_TRUE(until([&] { return pulls() == 3; }));
    loop.advance(9s);
    EXPECT_EQ(pulls(), 3);
    EXPECT_TRUE(until([&] { return ready("p0") && ready("p4"); }, 60s));
    EXPECT_EQ(pulls(), 5);
}

TEST_F(KubeletLimits, TheOutputOfAHookIsCutInTheStatus) {
    runtime.on_exec = [&](const cri::ContainerConfig&, const cri::ExecSyncRequest&) {
        return cri::ExecSyncResponse{.stdout = std::string(4 * MiB, 'x'), .stderr = std::string(4 * MiB, 'y'), .exit_code = 1};
    };
    add("p", R"({"containers":[{"name":"a","image":"image:1","lifecycle":{"postStart":{"exec":{"command":["loud"]}}}}]})");
    ASSERT_TRUE(until([&] { return waiting("p") == "PostStartHookError"; }));
    const std::string message = pod("p").status.container_statuses[0].state.waiting->message;
    EXPECT_THAT(message, HasSubstr("command exited with 1: xxx"));
    EXPECT_LT(message.size(), 10u * 1024 + 100);
    add("other", OneContainer);
    EXPECT_TRUE(until([&] { return ready("other"); }));
}

TEST_F(KubeletLimits, TheOutputOfAProbeIsCutInItsEvent) {
    runtime.on_exec = [&](const cri::ContainerConfig&, const cri::ExecSyncRequest&) {
        return cri::ExecSyncResponse{.stdout = std::string(4 * MiB, 'x'), .exit_code = 1};
    };
    add("p", R"({"containers":[{"name":"a","image":"image:1","readinessProbe":{"exec":{"command":["loud"]},"periodSeconds":1}}]})");
    ASSERT_TRUE(until([&] { return !events("Unhealthy").empty(); }));
    EXPECT_THAT(events("Unhealthy")[0], HasSubstr("Readiness probe failed: xxx"));
    EXPECT_LE(events("Unhealthy")[0].size(), 1024u);
}

TEST_F(KubeletLimits, APostStartHookHasAnHour) {
    std::int64_t limit = 0;
    runtime.on_exec = [&](const cri::ContainerConfig&, const cri::ExecSyncRequest& request) -> Result<cri::ExecSyncResponse> {
        limit = request.timeout;
        return Error(Reason::Timeout, "timed out");
    };
    add("p", R"({"containers":[{"name":"a","image":"image:1","lifecycle":{"postStart":{"exec":{"command":["hang"]}}}}]})");
    ASSERT_TRUE(until([&] { return waiting("p") == "PostStartHookError"; }));
    EXPECT_EQ(limit, 3600);
    EXPECT_THAT(events("Killing"), Contains("FailedPostStartHook"));
    EXPECT_THAT(runtime.running("p"), ElementsAre());

    add("sleeper",
        R"({"containers":[{"name":"a","image":"image:1","lifecycle":{"postStart":{"sleep":{"seconds":9223372036854775807}}}}]})");
    ASSERT_TRUE(until([&] { return !runtime.running("sleeper").empty(); }));
    loop.advance(59min);
    EXPECT_FALSE(ready("sleeper"));
    EXPECT_TRUE(until([&] { return ready("sleeper"); }, 2min)) << "a sleep is over";
}

TEST_F(KubeletLimits, ATerminationMessageIsCut) {
    const std::string message = message_after(
        "p", "", [&](const auto& container) { ASSERT_TRUE(files.write(message_file(container), std::string(100'000, 'm'), 0644)); });
    EXPECT_TRUE(message == std::string(4096, 'm')) << message.size();
}

TEST_F(KubeletLimits, ATerminationMessageIsReadFromAFileOnly) {
    ASSERT_TRUE(files.create_directories("/etc/kubernetes", 0755));
    ASSERT_TRUE(files.write("/etc/kubernetes/secret", "secret", 0600));
    EXPECT_EQ(message_after("link", "",
                            [&](const auto& container) {
                                ASSERT_TRUE(files.remove(message_file(container)));
                                ASSERT_TRUE(files.create_symlink("/etc/kubernetes/secret", message_file(container)));
                            }),
              "");
    EXPECT_EQ(message_after("pipe", "",
                            [&](const auto& container) {
                                ASSERT_TRUE(files.remove(message_file(container)));
                                files.add_special(message_file(container), FileType::Pipe);
                            }),
              "");
}

TEST_F(KubeletLimits, OfALogTheEndIsTheMessage) {
    const auto after = [&](const std::string& name, const std::string& line) {
        return message_after(name, R"(,"terminationMessagePolicy":"FallbackToLogsOnError")", [&](const auto& container) {
            std::string log;
            for (int i = 0; i < 5000; ++i) log += "2026-01-01T00:00:00Z stdout F " + line + "\n";
            ASSERT_TRUE(files.write(container.status.log_path, log, 0644));
        });
    };
    EXPECT_EQ(std::ranges::count(after("short", "l"), '\n'), 80);
    EXPECT_EQ(after("long", std::string(500, 'l')).size(), 2048u);
}

TEST_F(KubeletLimits, TheNodesStatusNamesFiftyImagesWithFiveNamesEach) {
    for (int i = 0; i < 80; ++i) {
        cri::Image image{.repo_digests = {}, .size = static_cast<std::uint64_t>(10'000 + i)};
        for (int name = 0; name < 20; ++name) image.repo_digests.push_back("r/i" + std::to_string(i) + "@sha256:" + std::to_string(name));
        runtime.add_image("r/i" + std::to_string(i) + ":1", std::move(image));
    }
    const auto images = [&] { return api.find<core::Node>({"", "n1"}).value_or(core::Node()).status.images; };
    ASSERT_TRUE(until([&] { return images().size() > 1; }, 10min));
    EXPECT_EQ(images().size(), 50u);
    EXPECT_EQ(images()[0].size_bytes, 10'079) << "the largest";
    for (const auto& image : images()) EXPECT_EQ(image.names.size(), 5u);
}

TEST_F(KubeletLimits, AManifestThatIsTooLongIsNotReadAndOthersAre) {
    const auto manifest = [](const std::string& name) {
        return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: a, image: 'image:1'}]}\n";
    };
    const auto padded = [&](const std::string& name, std::size_t size) {
        std::string text = manifest(name) + "# ";
        return text + std::string(size - text.size(), 'x');
    };
    ASSERT_TRUE(files.write("/etc/manifests/a.yaml", padded("long", MiB + 1), 0644));
    ASSERT_TRUE(files.write("/etc/manifests/b.yaml", padded("fits", MiB), 0644));
    EXPECT_TRUE(until([&] { return ready("fits-n1"); }));
    loop.advance(10s);
    EXPECT_FALSE(exists("long-n1"));
    EXPECT_THAT(runtime.running("long-n1"), ElementsAre());
}

}  // namespace
}  // namespace porthole::kubelet
