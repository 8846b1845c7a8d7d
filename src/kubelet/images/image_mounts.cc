#include "kubelet/images/image_mounts.h"

namespace porthole::kubelet {
namespace {

class ContainerdImageMounts final : public ImageMounts {
public:
    ContainerdImageMounts(ProcessRunner& processes, std::string endpoint) : processes_(processes), endpoint_(std::move(endpoint)) {}

    /// A snapshot of its own, which containerd drops by itself a day later; the layers, which the mount consists of, stay with the image.
    Task<> mount(std::string image, std::string directory) override {
        Command ctr{.arguments = {"ctr", "--address", endpoint_, "--namespace", "k8s.io", "images", "mount", image, directory}};
        auto mounted = co_await processes_.run(std::move(ctr));
        if (!mounted) co_return std::move(mounted).error().with_context("mounting image " + image + " with containerd's program ctr");
        if (mounted->exit_code != 0)
            co_return Error(Reason::Io, "mounting image " + image + " with containerd's program ctr: " + mounted->errors);
        co_return {};
    }

private:
    ProcessRunner& processes_;
    std::string endpoint_;
};

}  // namespace

std::unique_ptr<ImageMounts> make_containerd_image_mounts(ProcessRunner& processes, std::string endpoint) {
    constexpr std::string_view Scheme = "unix://";
    if (endpoint.starts_with(Scheme)) endpoint.erase(0, Scheme.size());
    return std::make_unique<ContainerdImageMounts>(processes, std::move(endpoint));
}

}  // namespace porthole::kubelet
