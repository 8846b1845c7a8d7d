#include "kubelet/images/image_puller.h"

#include "base/proxy_hint.h"
#include "base/result.h"
#include "base/time/time.h"
#include "kubelet/cri/image_info.h"

namespace porthole::kubelet {
namespace {

ImageOutcome failed(std::string reason, std::string message) {
    ImageOutcome outcome;
    outcome.failure = WaitingReason{std::move(reason), std::move(message)};
    return outcome;
}

ImageOutcome outcome_of(const cri::Image& image, const std::string& fallback_ref) {
    ImageOutcome outcome;
    outcome.ref = image.id.empty() ? fallback_ref : image.id;
    if (image.uid) outcome.user.uid = image.uid->value;
    outcome.user.name = image.username;
    return outcome;
}

/// Without a policy, `latest` is pulled always and other tags when missing.
std::string policy_of(const WantedImage& wanted, const ImageName& name) {
    if (!wanted.pull_policy.empty()) return wanted.pull_policy;
    const bool latest = name.digest.empty() && (name.tag.empty() || name.tag == "latest");
    return latest ? core::PullPolicy::Always : core::PullPolicy::IfNotPresent;
}

/// Images of this registry are part of the programs of nodes that can run them, and on no server: what a runtime says of its failed look-up
/// would only mislead. (Windows hosts need Microsoft's base layers below the programs, which may not be passed on.)
std::string explained(std::string why, const std::string& image) {
    if (!image.starts_with("registry.porthole.internal/")) return with_proxy_hint(std::move(why));
    return why +
           " (this image comes with Porthole's Linux nodes and emulated Windows hosts; on real Windows hosts use one with Microsoft's base "
           "layers)";
}

cri::ImageStatusRequest status_request(const std::string& image) {
    cri::ImageStatusRequest request;
    request.image.emplace().image = image;
    return request;
}

}  // namespace

struct ImagePuller::Request {
    core::ObjectReference reference;
    std::string key;   ///< of the back-off
    std::string text;  ///< as the pod writes it
    std::string full;
    std::vector<cri::AuthConfig> credentials;
    cri::PodSandboxConfig sandbox;
};

ImagePuller::ImagePuller(EventLoop& loop, ImageService& images, client::EventRecorder& events, std::size_t parallel_pulls)
    : loop_(loop), images_(images), events_(events), pulls_(parallel_pulls) {}

Task<ImageOutcome> ImagePuller::ensure_image(WantedImage wanted, std::vector<std::shared_ptr<const core::Secret>> secrets,
                                             cri::PodSandboxConfig sandbox) {
    const core::ObjectReference& reference = wanted.reference;
    const std::string& text = wanted.name;
    const Result<ImageName> name = parse_image_name(text);
    if (!name) {
        events_.warning(reference, "InspectFailed", "Failed to apply default image tag \"" + text + "\": " + name.error().message);
        co_return failed("InvalidImageName", "Failed to apply default image tag \"" + text + "\": " + name.error().message);
    }
    const std::string full = name->full();
    auto status = co_await images_.image_status(status_request(full));
    if (!status) {
        if (is_cancelled(status)) co_return std::move(status).error();
        const std::string message = "Failed to inspect image \"" + full + "\": " + status.error().message;
        events_.warning(reference, "InspectFailed", message);
        co_return failed("ImageInspectError", message);
    }
    const std::string policy = policy_of(wanted, *name);
    if (status->image && policy != core::PullPolicy::Always) {
        events_.normal(reference, "Pulled", "Container image \"" + text + "\" already present on machine and can be accessed by the pod");
        co_return outcome_of(*status->image, full);
    }
    if (policy == core::PullPolicy::Never) {
        CO_TRY(const std::string why, co_await why_unusable(full));
        const std::string message = "Container image \"" + text + "\" is not present with pull policy of Never" + why;
        events_.warning(reference, "ErrImageNeverPull", message);
        co_return failed("ErrImageNeverPull", message);
    }
    const std::string key = wanted.pod_uid + "_" + full;
    if (const auto before = failures_.find(key); before != failures_.end() && backoff_.is_waiting(key, before->second.since, loop_.now())) {
        const std::string message = "Back-off pulling image \"" + text + "\"";
        events_.normal(reference, "BackOff", message);
        co_return failed("ImagePullBackOff", message + ": " + before->second.error);
    }
    co_return co_await pull({reference, key, text, full, registry_credentials(*name, secrets), std::move(sandbox)});
}

Task<std::string> ImagePuller::why_unusable(std::string image) {
    cri::ImageStatusRequest request = status_request(image);
    request.verbose = true;
    const auto status = co_await images_.image_status(std::move(request));
    if (is_cancelled(status)) co_return status.error();
    if (!status) co_return "";
    const auto found = status->info.find(std::string(UnusableImage));
    co_return found == status->info.end() ? "" : ": " + found->second;
}

Task<ImageOutcome> ImagePuller::pull(Request request) {
    const MonotonicTime asked = loop_.now();
    CO_TRY(const auto permit, co_await pulls_.acquire());
    events_.normal(request.reference, "Pulling", "Pulling image \"" + request.text + "\"");
    const MonotonicTime began = loop_.now();
    auto pulled = co_await pull_with_credentials(request);
    if (!pulled) {
        if (is_cancelled(pulled)) co_return std::move(pulled).error();
        const std::string why = explained(pulled.error().message, request.full);
        events_.warning(request.reference, "Failed", "Failed to pull image \"" + request.text + "\": " + why);
        backoff_.next(request.key, loop_.now());
        failures_[request.key] = {loop_.now(), "ErrImagePull: " + why};
        co_return failed("ErrImagePull", why);
    }
    const auto milliseconds = [](Duration d) { return format_duration(std::chrono::floor<std::chrono::milliseconds>(d)); };
    const Duration took = loop_.now() - began, waited = loop_.now() - asked;
    backoff_.forget(request.key);
    failures_.erase(request.key);
    CO_TRY(const auto status, co_await images_.image_status(status_request(pulled->image_ref)));
    const std::uint64_t size = status.image ? status.image->size : 0;
    events_.normal(request.reference, "Pulled",
                   "Successfully pulled image \"" + request.text + "\" in " + milliseconds(took) + " (" + milliseconds(waited) +
                       " including waiting). Image size: " + std::to_string(size) + " bytes.");
    if (!status.image) {
        ImageOutcome outcome;
        outcome.ref = pulled->image_ref;
        co_return outcome;
    }
    co_return outcome_of(*status.image, pulled->image_ref);
}

/// Tries each credential that fits; the last error counts.
Task<cri::PullImageResponse> ImagePuller::pull_with_credentials(const Request& request) {
    cri::PullImageRequest message;
    message.image.emplace().image = request.full;
    message.sandbox_config = request.sandbox;
    for (std::size_t i = 0; i + 1 < request.credentials.size(); ++i) {
        message.auth = request.credentials[i];
        auto pulled = co_await images_.pull_image(message);
        if (pulled || is_cancelled(pulled)) co_return std::move(pulled);
    }
    if (!request.credentials.empty()) message.auth = request.credentials.back();
    co_return co_await images_.pull_image(std::move(message));
}

std::optional<Duration> ImagePuller::retry_after(const std::string& pod_uid) const {
    std::optional<Duration> soonest;
    for (auto at = failures_.lower_bound(pod_uid + "_"); at != failures_.end() && at->first.starts_with(pod_uid + "_"); ++at) {
        const Duration left = at->second.since + backoff_.delay(at->first) - loop_.now();
        if (!soonest || left < *soonest) soonest = std::max(left, Duration::zero());
    }
    return soonest;
}

void ImagePuller::forget_pod(const std::string& pod_uid) {
    backoff_.forget_prefix(pod_uid + "_");
    std::erase_if(failures_, [&](const auto& item) { return item.first.starts_with(pod_uid + "_"); });
}

}  // namespace porthole::kubelet
