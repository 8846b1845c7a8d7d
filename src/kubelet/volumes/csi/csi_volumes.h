#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubelet/volumes/csi/csi_attachments.h"
#include "kubelet/volumes/csi/csi_node_volumes.h"
#include "kubelet/volumes/csi/csi_paths.h"
#include "kubelet/volumes/csi/csi_services.h"
#include "kubelet/volumes/csi/csi_stats.h"
#include "kubelet/volumes/framework/plugin.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

/// The volumes of CSI drivers on this node: waits until they are attached, calls drivers to stage and publish them, and takes them down.
///
/// A file next to the pod's mount (vol_data.json; for block devices a link in the pod's directory) means that a pod may have the volume: it
/// is written before the first call to a driver, and removed after the volume is unpublished. So a restarted kubelet finds what has to be
/// taken down. Unstaging is handled by CsiNodeVolumes. After a start, volumes of running pods are staged and published again, which drivers
/// must allow. Steps for one volume never overlap; those of different ones do.
///
/// Lives on the kubelet's loop; all references outlive it. Reads `root` in the constructor.
class CsiVolumes {
public:
    using DriverObjects = CsiDriverObjects;
    using Services = CsiServices;
    explicit CsiVolumes(Services services);

    /// As VolumePlugin::set_up(); the request's step names what failed, with upstream's message. Periodic calls that the driver requests
    /// are made in the background.
    Task<MountedVolume> set_up(const VolumeRequest& request, CsiVolume volume);
    bool is_published(const std::string& pod_uid, const CsiVolume& volume) const {
        return published_.contains(pod_uid + "/" + volume.name);
    }
    /// Runs a task that a running pod need not wait for, unless `what` is already running.
    void in_background(std::string what, Task<> task);
    /// Ends the background tasks. Must be awaited before destroying it.
    Task<> close();
    /// Calls the driver to expand what set_up() has set up. `is_outdated`: this size is no longer wanted, so that a second failure is
    /// final. Error: MethodNotAllowed if the driver does not support it, BadRequest if a retry does not help, Conflict if it is impossible
    /// while a pod uses the volume, Timeout if the driver may still be working; any other: it has failed.
    Task<> expand(CsiVolume volume, std::string path, Quantity size, bool is_outdated);
    /// Whether what set_up() has set up is that large on this node: what expand() has made of it, else what was first asked for.
    bool has_size(const CsiVolume& volume, Quantity size);
    /// Takes down all volumes of the pod, each independently; volumes without users are then unstaged in the background. Error: of one of
    /// those that could not be taken down; they are unchanged, to be retried.
    Task<> tear_down(std::string uid);
    /// Whether the driver can mount volumes with an SELinux context.
    Task<bool> takes_context(std::string driver);
    /// As ask_csi_stats().
    Task<CsiStats> stats(std::string driver, std::string handle, std::string path, Duration limit);

    /// For the node's status: volumes that must not be detached, as "kubernetes.io/csi/<driver>^<handle>".
    std::vector<std::string> volumes_in_use() const { return volumes_.names_in_use(); }

private:
    /// The exclusive right to change a volume, while it exists.
    struct Hold {
        CsiNodeVolumes::Entry entry;
        Semaphore::Permit permit;
    };
    /// Shared by the steps of one set_up().
    struct Work {
        const VolumeRequest& request;
        const CsiVolume& volume;
        std::shared_ptr<const api::storage::v1::CSIDriver> driver_object;  ///< null if there is none
        CsiCapabilities capabilities;
        CsiAttachments::PublishContext publish_context;
        std::shared_ptr<const Hold> hold;
    };

    Task<std::shared_ptr<const Hold>> hold(CsiNodeVolumes::Entry entry);
    /// A call that runs to its end and holds the volume until then, even if its pod is deleted meanwhile and no longer waits: a driver gets
    /// one call at a time.
    template <class Method>
    Task<> change(const Work& work, const Method& method, typename Method::Request request);

    /// Writes what says that the pod may have the volume; yields whether it was there. By a worker: disks take their time.
    Result<bool> record_user(const std::string& uid, const CsiVolume& volume) const;
    Task<> stage(const Work& work, CsiNodeVolume& entry);
    Task<> publish(const Work& work);
    Task<> apply_group(const Work& work, const std::string& path, bool once);
    Task<> republish(std::shared_ptr<const core::Pod> pod, core::Volume of_pod, CsiVolume volume);
    Task<> publish_again(const VolumeRequest& request, const CsiVolume& volume);
    Task<> run_in_background(std::string what, Task<> task);

    Task<> tear_down_mount(std::string uid, std::string name);
    Task<> tear_down_device(std::string uid, std::string name);
    /// `failure`: the beginning of an error.
    Task<> unpublish(CsiVolumeData data, std::string target, std::string failure);

    /// Whether another pod has the volume; one that only waits for it does not count.
    bool another_pod_has(const CsiNodeVolume& entry, const std::string& uid) const;
    /// Error: other_selinux_context() while the volume is mounted with another context than a new user needs.
    Result<void> settle_context(const VolumeRequest& request, CsiVolume& volume);
    /// What set_up() returns for a volume that is published. Error: if its mount cannot be examined.
    Result<MountedVolume> mounted_as(const std::string& uid, const CsiVolume& volume) const;
    /// Adds the most frequent cause of drivers' failures on Windows.
    Error with_cause(Error error) const;
    CsiVolumeData data_of(const CsiVolume& volume) const;
    std::string key_of(const CsiVolume& volume) const { return CsiNodeVolumes::key_of(data_of(volume), volume.is_block); }

    Services services_;
    CsiPaths paths_;
    CsiAttachments attachments_;
    CsiNodeVolumes volumes_;
    std::set<std::string> published_;   ///< "<uid>/<name>", by this kubelet
    std::set<std::string> background_;  ///< running tasks
    Scope scope_;
};

}  // namespace porthole::kubelet
