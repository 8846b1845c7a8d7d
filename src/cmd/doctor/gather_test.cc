#include "cmd/doctor/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "client/fake/fake_api.h"
#include "runtime/files/durable_file.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::doctor {
namespace {

using namespace std::chrono_literals;

/// An API whose kubelets tell their settings from a moment on.
class KubeletsFrom final : public client::Transport {
public:
    KubeletsFrom(sim::SimLoop& loop, client::FakeApi& api, MonotonicTime serving) : loop_(loop), api_(api), serving_(serving) {}

    Task<client::ApiResponse> call(client::ApiRequest request) override {
        if (!request.path.ends_with("/proxy/configz")) co_return co_await api_.call(std::move(request));
        ++asked;
        if (loop_.now() < serving_) co_return Error(Reason::Unavailable, "remote error: tls: internal error");
        co_return client::ApiResponse{.code = 200, .body = std::make_shared<const std::string>(R"({"kubeletconfig":{}})")};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api_.watch(std::move(request)); }

    int asked = 0;

private:
    sim::SimLoop& loop_;
    client::FakeApi& api_;
    MonotonicTime serving_;
};

struct GatherTest : testing::Test {
    /// What is known of the node linux-1, which joined `age` ago and serves `later` from now.
    KubeletFact kubelet(Duration age, Duration later) {
        core::Node node;
        node.metadata.name = "linux-1";
        node.metadata.creation_timestamp = Timestamp(loop.wall_now() - age);
        api.put(node);
        KubeletsFrom transport(loop, api, loop.now() + later);
        client::Client client(transport);
        std::optional<Result<Evidence>> ended;
        TaskContext context(loop);
        start_task(gather(loop, client, transport), context, [&](Result<Evidence> evidence) { ended = std::move(evidence); });
        for (int i = 0; i < 100 && !ended; ++i) loop.advance(500ms);
        asked = transport.asked;
        EXPECT_TRUE(*ended) << ended->error().message;
        return (*ended)->kubelets.at(0);
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    int asked = 0;
};

TEST_F(GatherTest, WaitsForANodeThatHasJustJoined) {
    EXPECT_TRUE(kubelet(2s, 3s).configuration);
    EXPECT_EQ(kubelet(2s, 1h).error, "remote error: tls: internal error; the node joined less than a minute ago");
    EXPECT_LT(asked, 60);
}

TEST_F(GatherTest, DoesNotWaitForANodeThatIsSilent) {
    EXPECT_EQ(kubelet(10min, 3s).error, "remote error: tls: internal error");
    EXPECT_EQ(asked, 1);
}

struct GatherHostTest : testing::Test {
    GatherHostTest() { std::filesystem::create_directories(drive / "k/pki"); }
    ~GatherHostTest() override { std::filesystem::remove_all(data); }
    bool knows_authority() const {
        const auto facts = gather_host(data, "");
        EXPECT_TRUE(facts);
        EXPECT_EQ(facts->emulated_hosts.size(), 1u);
        return std::ranges::any_of(facts->files, [](const FileFact& file) { return file.kind == FileFact::Kind::AuthorityFile; });
    }
    const std::filesystem::path data = std::filesystem::temp_directory_path() / ("porthole-gather-" + std::to_string(::getpid()));
    const std::filesystem::path drive = data / "nodes/windows-1/h/rootfs/wine/drive_c";
};

TEST_F(GatherHostTest, WhatIsOnTheDriveOfAnEmulatedHostIsNotLookedForElsewhere) {
    EXPECT_FALSE(knows_authority());
    ASSERT_TRUE(write_durably(drive / "k/pki/ca.crt", "an authority"));
    EXPECT_TRUE(knows_authority());
    std::filesystem::rename(drive / "k", data / "elsewhere");
    std::filesystem::create_directory_symlink(data / "elsewhere", drive / "k");
    EXPECT_FALSE(knows_authority()) << "a pod with a hostPath volume can put a link there";
}

}  // namespace
}  // namespace porthole::cmd::doctor
