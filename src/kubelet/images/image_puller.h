#pragma once
#include "base/log.h"
#include "client/events.h"
#include "kubelet/container/container_config.h"
#include "kubelet/images/credentials.h"
#include "kubelet/pod/backoff.h"
#include "kubelet/pod/status.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// An image that is on the node, or why it is not.
struct ImageOutcome {
    std::string ref;
    ImageUser user;
    std::optional<WaitingReason> failure;
};

/// An image that a pod needs, for a container or for a volume.
struct WantedImage {
    core::ObjectReference reference;  ///< the object of events
    std::string pod_uid;
    std::string name;         ///< as the pod writes it
    std::string pull_policy;  ///< "": as its tag suggests
};

/// Makes images available on the node according to the pull policy, with back-off per pod and image, and records events. At most
/// `parallel_pulls` at a time; others wait in order. References must outlive it and its tasks.
class ImagePuller {
public:
    ImagePuller(EventLoop& loop, ImageService& images, client::EventRecorder& events, std::size_t parallel_pulls = 1);

    /// Takes as long as the pull. `sandbox` is the image's sandbox. Fails only by cancellation.
    Task<ImageOutcome> ensure_image(WantedImage wanted, std::vector<std::shared_ptr<const core::Secret>> secrets,
                                    cri::PodSandboxConfig sandbox);
    /// When a delayed pull may be retried; nullopt if the pod has none.
    std::optional<Duration> retry_after(const std::string& pod_uid) const;
    void forget_pod(const std::string& pod_uid);

private:
    struct Waiting {
        MonotonicTime since;  ///< of the last failure
        std::string error;
    };
    struct Request;
    Task<ImageOutcome> pull(Request request);
    /// "", or ": " and why the image that the node has under this name is of no use to it.
    Task<std::string> why_unusable(std::string image);
    Task<cri::PullImageResponse> pull_with_credentials(const Request& request);

    EventLoop& loop_;
    ImageService& images_;
    client::EventRecorder& events_;
    Semaphore pulls_;
    Backoff backoff_;
    std::map<std::string, Waiting> failures_;  ///< by "<pod uid>_<image>"
};

}  // namespace porthole::kubelet
