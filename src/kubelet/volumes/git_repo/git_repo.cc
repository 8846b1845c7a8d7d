#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {
namespace {

/// Copies of git repositories: removed from Kubernetes, as they ran a program of the node on what a pod named.
class GitRepo final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/git-repo"; }
    bool supports(const core::Volume& volume) const override { return volume.git_repo.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest) override {
        co_return Error(Reason::BadRequest,
                        "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate "
                        "`GitRepoVolumeDriver`");
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_git_repo(const VolumeDependencies&) { return std::make_unique<GitRepo>(); }

}  // namespace porthole::kubelet
