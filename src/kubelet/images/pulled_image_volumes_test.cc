#include "kubelet/images/pulled_image_volumes.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/sim/fake_runtime.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

struct NoObjects final : ObjectSource {
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string) override {
        co_return Error(Reason::NotFound, "none");
    }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string) override { co_return Error(Reason::NotFound, "none"); }
};

struct KeptMounts final : ImageMounts {
    Task<> mount(std::string image, std::string directory) override {
        mounted[directory] = image;
        co_return {};
    }
    std::map<std::string, std::string> mounted;
};

/// Runs nothing: says how it was asked.
struct FakeCtr final : ProcessRunner {
    Task<CommandOutput> run(Command command) override {
        given = std::move(command);
        co_return output;
    }
    Command given;
    CommandOutput output;
};

struct ImageVolumesTest : testing::Test {
    ImageVolumesTest() { pod->metadata.uid = "u"; }
    std::string mount(const std::string& reference, const std::string& policy) {
        core::ImageVolumeSource source;
        source.reference = reference;
        source.pull_policy = policy;
        auto image = porthole::sim::run(loop, volumes.pull(pod, source));
        if (!image) return image.error().message;
        const auto result = porthole::sim::run(loop, volumes.mount(*std::move(image), "/d"));
        return result ? "" : result.error().message;
    }
    porthole::sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    sim::FakeRuntime runtime{loop};
    client::EventRecorder events{loop, client, Logger(make_null_sink(), ""), "kubelet", "n"};
    ImagePuller puller{loop, runtime, events};
    NoObjects objects;
    KeptMounts mounts;
    PulledImageVolumes volumes{puller, objects, mounts};
    std::shared_ptr<core::Pod> pod = std::make_shared<core::Pod>();
};

TEST_F(ImageVolumesTest, AMissingImageIsPulledAndMountedByItsId) {
    EXPECT_EQ(mount("example.com/data:1", "IfNotPresent"), "");
    const auto image = porthole::sim::run(loop, runtime.image_status({.image = cri::ImageSpec{.image = "example.com/data:1"}}));
    ASSERT_TRUE(image && image->image);
    EXPECT_EQ(mounts.mounted["/d"], image->image->id);
}

TEST_F(ImageVolumesTest, WhatPreventsThePullIsSaid) {
    EXPECT_EQ(mount("example.com/data:1", "Never"),
              "ErrImageNeverPull: Container image \"example.com/data:1\" is not present with pull policy of Never");
    runtime.missing_images = {"example.com/none:1"};
    EXPECT_TRUE(mount("example.com/none:1", "Always").starts_with("ErrImagePull: "));
    EXPECT_TRUE(mount("example.com/none:1", "Always").starts_with("ImagePullBackOff: ")) << "it is not tried again at once";
    EXPECT_TRUE(mounts.mounted.empty());
}

TEST_F(ImageVolumesTest, ImagesOfVolumesAreNamedAsRuntimesListThem) {
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    for (const char* name : {"data", "team/data:1@sha256:" DIGEST, "localhost:5000/data:1"})
        pod->spec.volumes.emplace_back().image.emplace().reference = name;
    EXPECT_EQ(images_of_volumes({pod}),
              (std::set<std::string>{"docker.io/library/data:latest", "docker.io/team/data@sha256:" DIGEST, "localhost:5000/data:1"}));
}

TEST(ContainerdImageMounts, AskCtrAndSayWhatItSaid) {
    porthole::sim::SimLoop loop;
    FakeCtr ctr;
    const auto mounts = make_containerd_image_mounts(ctr, "unix:///run/containerd/containerd.sock");
    ASSERT_TRUE(porthole::sim::run(loop, mounts->mount("sha256:1", "/d")));
    EXPECT_EQ(ctr.given.arguments, (std::vector<std::string>{"ctr", "--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io",
                                                             "images", "mount", "sha256:1", "/d"}));
    ctr.output = {.exit_code = 1, .errors = "no such image"};
    EXPECT_EQ(porthole::sim::run(loop, mounts->mount("sha256:1", "/d")).error().message,
              "mounting image sha256:1 with containerd's program ctr: no such image");
}

}  // namespace
}  // namespace porthole::kubelet
