#include "kubelet/devices/pod_devices.h"

#include "base/result.h"
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

Task<std::optional<Rejection>> PodDevices::prepare(std::shared_ptr<const core::Pod> pod) {
    if (plugins_) {
        auto refusal = co_await plugins_->allocate(pod);
        if (!refusal && !is_cancelled(refusal))
            events_.warning(reference_to(*pod), "FailedAllocateDevices", "Failed to allocate devices: " + refusal.error().message);
        if (!refusal) co_return std::move(refusal).error();
        // It is not waited for: the scheduler chooses another node for the pod that takes this one's place.
        if (*refusal) co_return Rejection{"UnexpectedAdmissionError", **refusal};
    }
    if (claims_) {
        auto prepared = co_await claims_->prepare(pod);
        if (!prepared && !is_cancelled(prepared))
            events_.warning(reference_to(*pod), "FailedPrepareDynamicResources",
                            "Failed to prepare dynamic resources: prepare dynamic resources: " + prepared.error().message);
        if (!prepared) co_return std::move(prepared).error();
    }
    co_return std::nullopt;
}

Task<ContainerDevices> PodDevices::prepare_start(std::shared_ptr<const core::Pod> pod, std::string container) {
    ContainerDevices devices;
    if (plugins_) {
        devices.allocated = plugins_->devices_of(pod->metadata.uid, container);
        if (!devices.allocated.empty()) CO_TRY_VOID(co_await plugins_->prepare_start(pod->metadata.uid, container));
    }
    if (claims_) devices.cdi_ids = claims_->cdi_ids(*pod)[container];
    for (std::string& id : cdi_ids(devices.allocated)) devices.cdi_ids.push_back(std::move(id));
    co_return devices;
}

void PodDevices::free(const std::string& pod_uid) {
    if (plugins_) plugins_->release(pod_uid);
}

Task<> PodDevices::release(std::string pod_uid) {
    free(pod_uid);
    if (!claims_) co_return {};
    auto released = co_await claims_->unprepare(std::move(pod_uid));
    if (!released) co_return std::move(released).error().with_context("unprepare dynamic resources");
    co_return {};
}

Task<> PodDevices::release_stale(std::function<bool(const std::string& pod_uid)> is_known) {
    if (plugins_) plugins_->release_stale(is_known);
    if (!claims_ || releasing_) co_return {};
    releasing_ = true;
    auto released = co_await claims_->unprepare_stale(std::move(is_known));
    releasing_ = false;
    co_return released;
}

void PodDevices::add_health(const core::Pod& pod, core::PodStatus& status) const {
    if (claims_) claims_->add_health(pod, status);
    if (plugins_) plugins_->add_health(pod, status);
}

}  // namespace porthole::kubelet
