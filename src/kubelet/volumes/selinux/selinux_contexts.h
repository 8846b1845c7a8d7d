#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubelet/volumes/selinux/selinux.h"

namespace porthole::kubelet {

/// The SELinux contexts that pods need their volumes to be mounted with, so that the runtime need not give each file its label (KEP-1710).
/// All pods of a volume need the same. In memory only: a restarted kubelet admits the pods again. Lives on the kubelet's loop.
class SelinuxContexts {
public:
    /// As far as contexts depend on it.
    struct Volume {
        std::string name;                       ///< the PersistentVolume's, or anything unique
        std::string plugin;                     ///< "kubernetes.io/iscsi", "kubernetes.io/csi/<driver>"
        std::vector<std::string> access_modes;  ///< none if it is not a PersistentVolume
        bool takes_context = false;             ///< the plugin can mount it with one
    };

    /// `all_access_modes`: not only volumes for one pod (feature gate SELinuxMount).
    SelinuxContexts(std::unique_ptr<const Selinux> selinux, bool all_access_modes)
        : selinux_(std::move(selinux)), all_access_modes_(all_access_modes) {}

    /// The context for the volume `used_as` in the pod, "" for none; the same until the pod is forgotten. Error: Conflict with upstream's
    /// message if containers, or another pod of the volume, need another one, or options are not valid.
    Result<std::string> admit(const core::Pod& pod, const std::string& used_as, const Volume& volume);
    void forget_pod(const std::string& uid);

    /// As Selinux::labels_files().
    Result<bool> labels_files(const std::string& path) const { return selinux_->labels_files(path); }
    /// Upstream's volume_manager_selinux_*; at most `MostSeries` of each.
    void append_metrics(std::string& out) const;

    static constexpr std::size_t MostSeries = 1024;

private:
    enum Count { ContainerError, ContainerWarning, PodError, PodWarning, VolumeError, VolumeWarning, Admitted, CountKinds };
    /// What the pods of a volume need, also if it is not mounted so.
    struct Wanted {
        std::string label;
        std::set<std::string> pods;  ///< by uid
    };

    bool mounts_context(const Volume& volume) const;
    /// Null if it does not count, because its containers differ.
    Result<std::optional<std::string>> label_for(const core::Pod& pod, const std::string& used_as, const Volume& volume);
    /// The error if the volume would be mounted with a context; else it is only counted.
    Result<void> fail(const Volume& volume, Count error, std::string labels, std::string message);
    void count(Count what, const std::string& labels);

    std::unique_ptr<const Selinux> selinux_;
    bool all_access_modes_;
    std::map<std::string, Wanted> wanted_;                                 ///< by the volume's name
    std::array<std::map<std::string, std::uint64_t>, CountKinds> counts_;  ///< by labels
};

/// The option of mount(8). Quoted, as levels contain commas.
std::string selinux_mount_option(const std::string& context);
/// Why a pod waits, as upstream says it. `volume`: its unique name.
Error other_selinux_context(const std::string& volume);

}  // namespace porthole::kubelet
