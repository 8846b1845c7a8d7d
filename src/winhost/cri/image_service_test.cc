#include "winhost/cri/image_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

namespace porthole::winhost {
namespace {

namespace cri = api::cri::v1;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* Name = "registry.example.com/app:1";

Image image_for(const char* os_version) {
    Image image;
    image.id = std::string("sha256:") + os_version;
    image.repo_tags = {Name};
    image.config.os_version = os_version;
    return image;
}

/// One image, and a registry that has it for one build.
struct FakeImages final : ImageStore {
    std::optional<Image> here;
    std::optional<Image> in_registry;

    Task<Image> pull(std::string, Credentials) override {
        if (!in_registry) co_return Error(Reason::Unavailable, "registry.example.com: connection refused");
        here = in_registry;
        co_return *here;
    }
    Task<std::vector<Image>> import_archive(std::string) override { co_return std::vector<Image>(); }
    const Image* find(const std::string& reference) const override { return here && reference == Name ? &*here : nullptr; }
    std::vector<Image> list() const override { return here ? std::vector<Image>{*here} : std::vector<Image>(); }
    Task<> remove(std::string) override { co_return {}; }
    Hold hold(const std::vector<std::string>&) override { return nullptr; }
    Task<> collect_garbage() override { co_return {}; }
    Task<Usage> usage() override { co_return Usage(); }
};

struct ImageServiceTest : testing::Test {
    sim::SimLoop loop;
    FakeImages images;
    std::unique_ptr<kubelet::ImageService> service = make_image_service(loop, images, OsVersion::parse("10.0.20348").value(), "/r");

    /// "" where it has none.
    std::string status() {
        cri::ImageStatusRequest request;
        request.image.emplace().image = Name;
        const auto answer = sim::run(loop, service->image_status(request)).value();
        return answer.image ? answer.image->id : "";
    }
    Result<cri::PullImageResponse> pull() {
        cri::PullImageRequest request;
        request.image.emplace().image = Name;
        return sim::run(loop, service->pull_image(request));
    }
};

// IMG-01, IMG-08
TEST_F(ImageServiceTest, AnImageOfTheHostsFormerBuildIsPulledAgain) {
    images.here = image_for("10.0.17763.1");
    images.in_registry = image_for("10.0.20348.1");
    EXPECT_EQ(status(), "") << "so that IfNotPresent pulls";
    EXPECT_EQ(sim::run(loop, service->list_images({})).value().images.size(), 1u) << "it takes room on the disk";
    EXPECT_EQ(pull().value().image_ref, "sha256:10.0.20348.1");
    EXPECT_EQ(status(), "sha256:10.0.20348.1");
}

// IMG-01, IMG-08, TRB-03
TEST_F(ImageServiceTest, WhereItCannotBePulledTheErrorNamesBothBuilds) {
    images.here = image_for("10.0.17763.1");
    EXPECT_THAT(pull().error().message,
                AllOf(StartsWith("ImageOSVersionMismatch: the image is for Windows 10.0.17763.1, the host is 10.0.20348"),
                      HasSubstr("it cannot be pulled again: registry.example.com: connection refused")));
    images.here.reset();
    EXPECT_EQ(pull().error().message, "registry.example.com: connection refused");
}

// IMG-08
TEST_F(ImageServiceTest, TellsWhyAnImageThatIsHereIsOfNoUse) {
    const auto info = [&](bool verbose) {
        cri::ImageStatusRequest request{.verbose = verbose};
        request.image.emplace().image = Name;
        return sim::run(loop, service->image_status(request)).value().info;
    };
    images.here = image_for("10.0.17763.1");
    EXPECT_THAT(info(true)["unusable"],
                StartsWith("ImageOSVersionMismatch: the image is for Windows 10.0.17763.1, the host is 10.0.20348"));
    EXPECT_TRUE(info(false).empty()) << "as the interface wants it";
    images.here.reset();
    EXPECT_TRUE(info(true).empty());
}

TEST_F(ImageServiceTest, ImagesThatSayNoVersionAreThere) {
    images.here = image_for("");
    EXPECT_EQ(status(), "sha256:");
}

}  // namespace
}  // namespace porthole::winhost
