#include "kubelet/preparation/pod_preparer.h"

#include "base/result.h"
#include "kubelet/pod/resize.h"
#include "kubelet/volumes/framework/attach_limit.h"

namespace porthole::kubelet {

Error sandbox_failed(client::EventRecorder& events, const core::Pod& pod, Error error) {
    if (error.reason != Reason::Cancelled)
        events.warning(reference_to(pod), "FailedCreatePodSandBox", "Failed to create pod sandbox: " + error.message);
    return error;
}

Task<std::optional<Rejection>> PodPreparer::prepare(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state,
                                                    bool for_new_sandbox, PreparedPod& prepared) {
    const core::ObjectReference reference = reference_to(*pod);
    if (!pod->spec.host_network && !node_.network_problem.empty()) {
        events_.warning(reference, "NetworkNotReady", "network is not ready: " + node_.network_problem);
        co_return Error(Reason::Unavailable, "network is not ready: " + node_.network_problem);
    }
    auto hostname = pod_hostname(*pod, node_.dns.domain);
    if (!hostname) co_return sandbox_failed(events_, *pod, std::move(hostname).error());
    prepared.hostname = std::move(*hostname);
    CO_TRY_VOID(ensure_footprint(*pod, state));
    CO_TRY(auto rejection, co_await prepare_users(pod, for_new_sandbox, prepared));
    if (!rejection) {
        CO_TRY(rejection, co_await devices_.prepare(pod));
    }
    if (!rejection) {
        auto volumes = co_await footprint_.set_up_volumes(pod);
        if (volumes)
            prepared.volumes = std::move(*volumes);
        else if (is_attach_limit_exceeded(volumes.error()))
            rejection = Rejection{"VolumeAttachmentLimitExceeded", volumes.error().message};
        else
            co_return std::move(volumes).error();
    }
    if (rejection) {
        events_.warning(reference, rejection->reason, rejection->message);
        co_return rejection;
    }
    CO_TRY(prepared.pull_secrets, co_await references_.pull_secrets(pod));
    co_return std::nullopt;
}

Result<void> PodPreparer::ensure_footprint(const core::Pod& pod, const PodRuntimeState& state) {
    const auto failed = [&](const char* reason, const char* what, const Error& error) {
        events_.warning(reference_to(pod), reason, what + error.message);
        return error;
    };
    const auto cgroup = footprint_.ensure_cgroup_for_both(with_given_resources(pod, state), pod);
    if (!cgroup) return failed("FailedToCreatePodContainer", "unable to ensure pod container exists: ", cgroup.error());
    const auto directory = footprint_.ensure_directory(pod);
    if (!directory) return failed("FailedToMakePodDataDirectories", "error making pod data directories: ", directory.error());
    return {};
}

/// The ids of a pod that asks for a user namespace: those of its sandbox, if it has one.
Task<std::optional<Rejection>> PodPreparer::prepare_users(std::shared_ptr<const core::Pod> pod, bool for_new_sandbox,
                                                          PreparedPod& prepared) {
    prepared.users.reset();
    if (!users_ || pod->spec.host_users.value_or(true)) co_return std::nullopt;
    if (for_new_sandbox) {
        CO_TRY(auto rejection, co_await require_user_namespaces(pod));
        if (rejection) co_return rejection;
    }
    const std::string& uid = pod->metadata.uid;
    auto range = for_new_sandbox ? users_->ensure(uid) : users_->find(uid);
    if (!range) co_return sandbox_failed(events_, *pod, std::move(range).error());
    prepared.users = *range;
    co_return std::nullopt;
}

/// A pod whose runtime cannot make them never runs as root of the node instead.
Task<std::optional<Rejection>> PodPreparer::require_user_namespaces(std::shared_ptr<const core::Pod> pod) {
    auto handler = co_await references_.runtime_handler(pod);
    if (!handler) co_return sandbox_failed(events_, *pod, std::move(handler).error());
    if (node_.can_make_user_namespaces(*handler)) co_return std::nullopt;
    co_return Rejection{NoUserNamespaces, "pod asks for a user namespace (hostUsers: false), which the node's container runtime " +
                                              node_.runtime_version + (handler->empty() ? "" : " with the handler \"" + *handler + "\"") +
                                              " does not support"};
}

Task<> PodPreparer::refresh_volumes(std::shared_ptr<const core::Pod> pod) {
    CO_TRY_VOID(co_await footprint_.set_up_volumes(std::move(pod)));
    co_return {};
}

Task<> PodPreparer::release(std::shared_ptr<const core::Pod> pod) {
    const std::string& uid = pod->metadata.uid;
    CO_TRY_VOID(co_await footprint_.tear_down_volumes(uid));
    if (users_) users_->release(uid);
    CO_TRY_VOID(co_await devices_.release(uid));
    (void)footprint_.remove_cgroup(*pod);  // tried again when the pod's last containers are removed
    co_return {};
}

Task<> PodPreparer::release_stale(std::string uid, std::function<bool()> came_back) {
    CO_TRY_VOID(co_await footprint_.tear_down_volumes(uid));
    if (users_ && !came_back()) users_->release(uid);
    co_return {};
}

}  // namespace porthole::kubelet
