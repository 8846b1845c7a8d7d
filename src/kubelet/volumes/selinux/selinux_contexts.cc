#include "kubelet/volumes/selinux/selinux_contexts.h"

#include <algorithm>

#include "base/metrics_text.h"
#include "base/result.h"
#include "base/strings.h"
#include "kubelet/container/security_context.h"
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {
namespace {

using AccessMode = core::PersistentVolumeAccessMode;

struct Family {
    const char *name, *help;
};

// In the order of SelinuxContexts::Count; names and texts are upstream's.
constexpr Family Families[] = {
    {"volume_manager_selinux_container_errors_total",
     "Number of errors when kubelet cannot compute SELinux context for a container. Kubelet can't start such a Pod then and it will retry, "
     "therefore value of this metric may not represent the actual nr. of containers."},
    {"volume_manager_selinux_container_warnings_total",
     "Number of errors when kubelet cannot compute SELinux context for a container that are ignored. They will become real errors when "
     "SELinuxMountReadWriteOncePod feature is expanded to all volume access modes."},
    {"volume_manager_selinux_pod_context_mismatch_errors_total",
     "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. Kubelet can't start such "
     "a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods."},
    {"volume_manager_selinux_pod_context_mismatch_warnings_total",
     "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. They are not errors yet, "
     "but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes."},
    {"volume_manager_selinux_volume_context_mismatch_errors_total",
     "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. Kubelet can't "
     "start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods."},
    {"volume_manager_selinux_volume_context_mismatch_warnings_total",
     "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. They are not "
     "errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes."},
    {"volume_manager_selinux_volumes_admitted_total",
     "Number of volumes whose SELinux context was fine and will be mounted with mount -o context option."},
};

bool has(const std::vector<std::string>& modes, const char* mode) { return std::ranges::find(modes, mode) != modes.end(); }

/// The access mode that allows the most users.
std::string mode_label(const SelinuxContexts::Volume& volume) {
    const auto& modes = volume.access_modes;
    const char* const mode = modes.empty()                           ? "inline"
                             : has(modes, AccessMode::ReadWriteMany) ? "RWX"
                             : has(modes, AccessMode::ReadOnlyMany)  ? "ROX"
                             : has(modes, AccessMode::ReadWriteOnce) ? "RWO"
                                                                     : "RWOP";
    return metric_label("access_mode", mode);
}

std::string plugin_labels(const SelinuxContexts::Volume& volume) {
    return mode_label(volume) + "," + metric_label("volume_plugin", volume.plugin);
}

bool mounts(const core::Container& container, const std::string& volume) {
    return std::ranges::any_of(container.volume_mounts, [&](const core::VolumeMount& mount) { return mount.name == volume; });
}

bool relabels_recursively(const core::Pod& pod) {
    return pod.spec.security_context && pod.spec.security_context->se_linux_change_policy == core::PodSELinuxChangePolicy::Recursive;
}

}  // namespace

bool SelinuxContexts::mounts_context(const Volume& volume) const {
    if (volume.access_modes.empty()) return false;
    return all_access_modes_ || (volume.access_modes.size() == 1 && has(volume.access_modes, AccessMode::ReadWriteOncePod));
}

Result<std::string> SelinuxContexts::admit(const core::Pod& pod, const std::string& used_as, const Volume& volume) {
    auto found = wanted_.find(volume.name);
    if (found == wanted_.end() || !found->second.pods.contains(pod.metadata.uid)) {
        TRY(const auto label, label_for(pod, used_as, volume));
        if (found == wanted_.end()) {
            found = wanted_.emplace(volume.name, Wanted{.label = label.value_or(""), .pods = {}}).first;
            if (!found->second.label.empty()) count(Admitted, plugin_labels(volume));
        } else if (volume.takes_context && label && *label != found->second.label) {
            TRY_VOID(
                fail(volume, VolumeError, plugin_labels(volume),
                     "conflicting SELinux labels of volume " + volume.name + ": " + quote(found->second.label) + " and " + quote(*label)));
        }
        found->second.pods.insert(pod.metadata.uid);
    }
    return mounts_context(volume) ? found->second.label : "";
}

Result<std::optional<std::string>> SelinuxContexts::label_for(const core::Pod& pod, const std::string& used_as, const Volume& volume) {
    std::set<std::string> labels;
    for (const ContainerSpec& spec : all_containers(pod)) {
        if (!mounts(spec.container, used_as)) continue;
        const auto options = effective_security_context(pod, spec.container).se_linux_options;
        if (!options) continue;
        auto label = selinux_->file_label(*options);
        if (!label) {
            TRY_VOID(fail(volume, ContainerError, mode_label(volume),
                          "failed to construct SELinux label from context " + quote(options->level) + ": " + label.error().message));
            return std::string();
        }
        labels.insert(*std::move(label));
    }
    if (labels.size() > 1) {
        TRY_VOID(fail(volume, PodError, mode_label(volume), "multiple SELinux labels found: " + join(labels, ",")));
        return std::nullopt;
    }
    if (labels.empty() || !volume.takes_context || relabels_recursively(pod)) return std::string();
    return *labels.begin();
}

Result<void> SelinuxContexts::fail(const Volume& volume, Count error, std::string labels, std::string message) {
    const bool is_error = mounts_context(volume);
    count(is_error ? error : static_cast<Count>(error + 1), labels);
    return is_error ? Result<void>(Error(Reason::Conflict, std::move(message))) : Result<void>();
}

void SelinuxContexts::count(Count what, const std::string& labels) {
    auto& series = counts_[what];
    if (series.size() < MostSeries || series.contains(labels)) ++series[labels];
}

void SelinuxContexts::forget_pod(const std::string& uid) {
    for (auto& [name, wanted] : wanted_) wanted.pods.erase(uid);
    std::erase_if(wanted_, [](const auto& item) { return item.second.pods.empty(); });
}

void SelinuxContexts::append_metrics(std::string& out) const {
    static_assert(std::size(Families) == CountKinds);
    for (std::size_t i = 0; i < CountKinds; ++i) {
        if (counts_[i].empty()) continue;
        const MetricFamily family(out, Families[i].name, "gauge", Families[i].help);
        for (const auto& [labels, count] : counts_[i]) family.add(labels, count);
    }
}

std::string selinux_mount_option(const std::string& context) { return "context=\"" + context + "\""; }

Error other_selinux_context(const std::string& volume) {
    return Error(Reason::Conflict, "waiting for unmount of volume " + quote(volume) +
                                       ", because it is already mounted to a different pod with a different SELinux label");
}

}  // namespace porthole::kubelet
