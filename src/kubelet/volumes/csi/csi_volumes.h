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

/// The volumes of CSI drivers on this node: waits until they are attached, has drivers stage and publish them, and takes them down.
///
/// A file next to the pod's mount (vol_data.json; for block devices a link in the pod's folder) says that a pod may have the volume: it is
/// written before a driver is first asked for anything, and removed after it is unpublished. So a kubelet that starts finds what has to be
/// taken down. Unstaging is not the pod's concern: see CsiNodeVolumes. Volumes that pods still want are staged and published again after a
/// start, as drivers must allow. Steps for one volume never overlap; those of different ones do.
///
/// Lives on the kubelet's loop; all references outlive it. Reads `root` in the constructor.
class CsiVolumes {
public:
    using DriverObjects = CsiDriverObjects;
    using Services = CsiServices;
    explicit CsiVolumes(Services services);

    /// As VolumePlugin::set_up(); the request's step says what failed, in upstream's words. What the driver wants to be asked for again and
    /// again is asked for in the background.
    Task<MountedVolume> set_up(const VolumeRequest& request, CsiVolume volume, VolumeServices& services);
    bool is_published(const std::string& pod_uid, const CsiVolume& volume) const {
        return published_.contains(pod_uid + "/" + volume.name);
    }
    /// Runs what a pod that runs need not wait for, unless `what` is running already.
    void in_background(std::string what, Task<> task);
    /// Ends what runs in the background. To be awaited before destroying it.
    Task<> close();
    /// Has the driver enlarge what set_up() has set up. `is_outdated`: no one wants this size any longer, so that a second failure is the
    /// last. Error: MethodNotAllowed where the driver cannot at all, BadRequest where trying again does not help, Conflict where it cannot
    /// while a pod has the volume, Timeout where it may still be at work; any other: it has failed.
    Task<> expand(CsiVolume volume, std::string path, Quantity size, bool is_outdated, VolumeServices& services);
    /// Takes down everything that the pod has here, each volume on its own; what no pod wants then is unstaged in the background. Error: of
    /// one of those that could not be taken down; they are as they were, to be tried again.
    Task<> tear_down(std::string uid, VolumeServices& services);
    /// As ask_csi_stats().
    Task<CsiStats> stats(std::string driver, std::string handle, std::string path, Duration limit);

    /// What the node's status says: volumes that must not be detached, as "kubernetes.io/csi/<driver>^<handle>".
    std::vector<std::string> volumes_in_use() const { return volumes_.names_in_use(); }

private:
    /// The right to change a volume, for as long as it is there.
    struct Hold {
        CsiNodeVolumes::Entry entry;
        Semaphore::Permit permit;
    };
    /// What the steps of one set_up() share.
    struct Work {
        const VolumeRequest& request;
        const CsiVolume& volume;
        VolumeServices& services;
        std::shared_ptr<const api::storage::v1::CSIDriver> driver_object;  ///< null where there is none
        CsiCapabilities capabilities;
        CsiAttachments::PublishContext publish_context;
        std::shared_ptr<const Hold> hold;
    };

    Task<std::shared_ptr<const Hold>> hold(CsiNodeVolumes::Entry entry);
    /// A call that runs to its end, and holds the volume until then, though a pod that is deleted waits for it no more: a driver is asked
    /// for one thing after the other.
    template <class Method>
    Task<> change(const Work& work, const Method& method, typename Method::Request request);

    Task<> stage(const Work& work, CsiNodeVolume& entry);
    Task<> publish(const Work& work);
    Task<> apply_group(const Work& work, const std::string& path, bool once);
    Task<> republish(std::shared_ptr<const core::Pod> pod, core::Volume of_pod, CsiVolume volume, VolumeServices& services);
    Task<> publish_again(const VolumeRequest& request, const CsiVolume& volume, VolumeServices& services);
    Task<> run_in_background(std::string what, Task<> task);

    Task<> tear_down_mount(std::string uid, std::string name, VolumeServices& services);
    Task<> tear_down_device(std::string uid, std::string name, VolumeServices& services);
    /// `failure`: what an error begins with.
    Task<> unpublish(CsiVolumeData data, std::string target, std::string failure, VolumeServices& services);

    /// What most failures of drivers on Windows come from.
    Error with_cause(Error error) const;
    CsiVolumeData data_of(const CsiVolume& volume) const;
    std::string key_of(const CsiVolume& volume) const { return CsiNodeVolumes::key_of(data_of(volume), volume.is_block); }

    Services services_;
    CsiPaths paths_;
    CsiAttachments attachments_;
    CsiNodeVolumes volumes_;
    std::set<std::string> published_;   ///< "<uid>/<name>", by this kubelet
    std::set<std::string> background_;  ///< what runs there
    Scope scope_;
};

}  // namespace porthole::kubelet
