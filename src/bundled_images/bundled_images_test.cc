#include "bundled_images/bundled_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bundled_images/bundled_image_service.h"
#include "kubelet/sim/fake_runtime.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::bundled_images {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BundledImages, AreFoundByTheirWholeNameOnly) {
    for (const char* name : {PauseImage, WebImage}) {
        const BundledImage* image = find_bundled_image(name);
        ASSERT_TRUE(image);
        EXPECT_THAT(std::string(image->archive), HasSubstr(name)) << "an archive names its image";
    }
    EXPECT_FALSE(find_bundled_image("registry.porthole.internal/web:3"));
    EXPECT_FALSE(find_bundled_image("docker.io/registry.porthole.internal/web:2"));
}

struct BundledImageServiceTest : testing::Test {
    static cri::PullImageRequest pull_of(const std::string& name) {
        cri::PullImageRequest request;
        request.image.emplace().image = name;
        return request;
    }
    sim::SimLoop loop;
    kubelet::sim::FakeRuntime runtime{loop};
    std::vector<std::string> imported;
    BundledImageService images{runtime, [this](const BundledImage& image) {
                                   imported.push_back(image.name);
                                   runtime.add_image(image.name);
                                   return done();
                               }};
    static Task<> done() { co_return {}; }
};

TEST_F(BundledImageServiceTest, ImportsWhatTheProgramCarriesWhereItIsPulled) {
    const auto pulled = sim::run(loop, images.pull_image(pull_of(WebImage)));
    ASSERT_TRUE(pulled);
    EXPECT_FALSE(pulled->image_ref.empty());
    EXPECT_THAT(imported, ElementsAre(WebImage));
    EXPECT_TRUE(runtime.calls().empty()) << "nothing was pulled from a registry";

    ASSERT_TRUE(sim::run(loop, images.pull_image(pull_of(WebImage))));
    EXPECT_EQ(imported.size(), 1u) << "it is there";
    cri::RemoveImageRequest removal;
    removal.image.emplace().image = WebImage;
    ASSERT_TRUE(sim::run(loop, images.remove_image(removal)));
    ASSERT_TRUE(sim::run(loop, images.pull_image(pull_of(WebImage))));
    EXPECT_EQ(imported.size(), 2u) << "it comes back";
}

TEST_F(BundledImageServiceTest, PullsEveryOtherImage) {
    ASSERT_TRUE(sim::run(loop, images.pull_image(pull_of("registry.test/app:1"))));
    EXPECT_TRUE(imported.empty());
    EXPECT_THAT(runtime.calls(), ElementsAre("PullImage"));
}

/// A ctr that is not there, or one that ends with `exit_code`.
class FakeCtr final : public ProcessRunner {
public:
    explicit FakeCtr(std::optional<int> exit_code) : exit_code_(exit_code) {}
    Task<CommandOutput> run(Command command) override {
        given = std::move(command);
        if (!exit_code_) co_return Error(Reason::NotFound, "no program ctr");
        co_return CommandOutput{.exit_code = *exit_code_, .errors = "no room"};
    }
    Command given;

private:
    std::optional<int> exit_code_;
};

TEST(ImportLimit, GrowsWithTheArchive) {
    using namespace std::chrono_literals;
    EXPECT_EQ(import_limit(0), 10min);
    EXPECT_EQ(import_limit(std::uintmax_t{6} << 30), 10min + 6144s);
    EXPECT_EQ(import_limit(std::filesystem::path("/nowhere")), 10min);
}

TEST(ContainerdImport, GivesTheArchiveToCtrAndSaysWhatCtrSaid) {
    sim::SimLoop loop;
    const BundledImage& image = *find_bundled_image(WebImage);
    FakeCtr ctr(0), full(1), missing(std::nullopt);
    EXPECT_TRUE(sim::run(loop, import_into_containerd(ctr, "unix:///run/containerd/containerd.sock", image)));
    EXPECT_THAT(ctr.given.arguments, testing::Contains("/run/containerd/containerd.sock"));
    EXPECT_EQ(ctr.given.input, image.archive);
    EXPECT_EQ(ctr.given.limit, import_limit(image.archive.size()));
    const auto said = [&](ProcessRunner& program) {
        return sim::run(loop, import_into_containerd(program, "/c.sock", image)).error().message;
    };
    EXPECT_THAT(said(full), HasSubstr("no room"));
    EXPECT_THAT(said(missing), HasSubstr("part of porthole"));
}

}  // namespace
}  // namespace porthole::bundled_images
