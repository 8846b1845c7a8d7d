#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/storage_v1.h"
#include "client/informers/informer.h"
#include "kubelet/volumes/csi/csi_drivers.h"
#include "kubelet/volumes/csi/csi_volume.h"
#include "kubelet/volumes/csi/volume_data.h"
#include "kubelet/volumes/framework/plugin.h"
#include "runtime/scope.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// As the driver tells it.
struct CsiStats {
    FileSystemUsage file_system;
    TreeUsage used;
    schema::Box<api::csi::v1::VolumeCondition> condition;  ///< empty where the driver tells none
};

/// The volumes of CSI drivers on this node: waits until they are attached, has drivers stage and publish them, and takes them down.
///
/// A file next to the pod's mount (vol_data.json; for block devices a link in the pod's folder) says that a pod may have the volume: it is
/// written before a driver is first asked for anything, and removed after it was last asked. So a kubelet that starts finds what has to be
/// taken down, and a volume is unstaged when the last file that names it goes. Volumes that pods still want are staged and published again
/// after a start, as drivers must allow. Steps for one volume never overlap; those of different ones do.
///
/// Below `root`, as upstream: plugins/kubernetes.io/csi/<driver>/<hash>/globalmount,
/// plugins/kubernetes.io/csi/volumeDevices/{staging,publish, <name>}, pods/<uid>/volumes/kubernetes.io~csi/<name>/mount,
/// pods/<uid>/volumeDevices/kubernetes.io~csi/<name>. Drivers on Windows are given them with drive and backslashes, as the CSI proxy wants
/// them.
///
/// Lives on the kubelet's loop; all references outlive it. Reads `root` in the constructor.
class CsiVolumes {
public:
    using DriverObjects = client::Informer<api::storage::v1::CSIDriver>;
    struct Services {
        EventLoop& loop;
        FileSystem& files;
        client::Client& client;
        CsiDrivers& drivers;
        DriverObjects& driver_objects;
        Logger log;
        std::string node_name, root;
        std::function<std::shared_ptr<const core::Node>()> node;  ///< this one as the API has it; null before it is there
        std::function<void()> report_node;                        ///< volumes_in_use() has changed
        std::function<bool()> has_csi_proxy;                      ///< Windows: whether a CSI proxy serves on the node; null elsewhere
        Duration attach_limit = std::chrono::seconds(123);        ///< for which a pod waits until its volume is attached; upstream's
    };
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
    Task<> close() { return scope_.close(); }
    /// Has the driver enlarge what set_up() has set up. `is_outdated`: no one wants this size any longer, so that a second failure is the
    /// last. Error: MethodNotAllowed where the driver cannot at all, BadRequest where trying again does not help, Conflict where it cannot
    /// while a pod has the volume, Timeout where it may still be at work; any other: it has failed.
    Task<> expand(CsiVolume volume, std::string path, Quantity size, bool is_outdated, VolumeServices& services);
    /// Takes down everything that the pod has here, each volume on its own. Error: of one of those that could not be taken down; they are
    /// as they were, to be tried again.
    Task<> tear_down(std::string uid, VolumeServices& services);
    /// Error: MethodNotAllowed where the driver tells nothing.
    Task<CsiStats> stats(std::string driver, std::string handle, std::string path, Duration limit);

    /// What the node's status says: volumes that must not be detached, as "kubernetes.io/csi/<driver>^<handle>".
    std::vector<std::string> volumes_in_use() const;

private:
    /// A volume that pods of this node have or want.
    struct Entry {
        std::string driver;
        std::string in_use_name;        ///< "" for one that is never attached
        std::set<std::string> users;    ///< "<uid>/<name>"
        std::set<std::string> holders;  ///< those of the users that have a file
        bool is_staged = false;         ///< by this kubelet
        bool failed_to_grow = false;    ///< and the driver was not at work on it any longer
        bool grows_unused = false;      ///< not while a pod has it
        Semaphore lock{1};
    };
    /// The right to change a volume, for as long as it is there.
    struct Hold {
        std::shared_ptr<Entry> entry;
        Semaphore::Permit permit;
    };
    using PublishContext = std::map<std::string, std::string>;
    /// What the steps of one set_up() share.
    struct Work {
        const VolumeRequest& request;
        const CsiVolume& volume;
        VolumeServices& services;
        std::shared_ptr<const api::storage::v1::CSIDriver> driver_object;  ///< null where there is none
        CsiCapabilities capabilities;
        PublishContext publish_context;
        std::shared_ptr<const Hold> hold;
    };

    void load();
    void add_user(const std::string& key, const std::string& driver, const std::string& in_use_name, const std::string& user);
    /// Whether its driver wants it to be attached, which may change while pods have the volume.
    bool is_attached(const Entry& entry) const;
    /// A file says that the user may have the volume.
    std::shared_ptr<Entry> add_holder(const CsiVolumeData& data, bool is_block, const std::string& user);
    void remove_user(const std::string& key, const std::string& user);
    std::shared_ptr<Entry> find(const std::string& key) const;

    Task<std::shared_ptr<const Hold>> hold(std::shared_ptr<Entry> entry);
    /// A call that runs to its end, and holds the volume until then, though a pod that is deleted waits for it no more: a driver is asked
    /// for one thing after the other.
    template <class Method>
    Task<> change(const Work& work, const Method& method, typename Method::Request request);

    Task<PublishContext> wait_attached(const VolumeRequest& request, const CsiVolume& volume);
    /// Whether the API's node shows the volume as in use and attached.
    Task<bool> is_held(std::string name);
    /// Whether the driver said so when the volume was to be attached. It is asked for its new limit then.
    Task<bool> is_node_full(const CsiVolume& volume);
    Task<PublishContext> read_attachment(const CsiVolume& volume);
    Task<> stage(const Work& work, Entry& entry);
    Task<> publish(const Work& work);
    Task<> apply_group(const Work& work, const std::string& path, bool once);
    Task<> republish(std::shared_ptr<const core::Pod> pod, core::Volume of_pod, CsiVolume volume, VolumeServices& services);
    Task<> publish_again(const VolumeRequest& request, const CsiVolume& volume, VolumeServices& services);
    Task<> run_in_background(std::string what, Task<> task);
    Task<std::map<std::string, std::string>> tokens(const Work& work);
    Task<std::map<std::string, std::string>> secret_data(const schema::Box<core::SecretReference>& reference, const char* field,
                                                         VolumeServices& services);

    Task<> tear_down_mount(std::string uid, std::string name, VolumeServices& services);
    Task<> tear_down_device(std::string uid, std::string name, VolumeServices& services);
    /// `failure`: what an error begins with.
    Task<> unpublish(CsiVolumeData data, std::string target, std::string failure, VolumeServices& services);
    Task<> unstage(CsiVolumeData data, bool is_block);

    bool is_windows() const { return services_.has_csi_proxy != nullptr; }
    /// A path as drivers write it.
    std::string for_driver(std::string path) const;
    /// What most failures of drivers on Windows come from.
    Error with_cause(Error error) const;
    std::string pod_folder(const std::string& uid, bool is_block) const;
    std::string global_folder(const std::string& driver, const std::string& handle) const;
    std::string device_folder(const char* kind, const std::string& name) const;
    std::string staging_path(const CsiVolume& volume) const;
    std::string target_path(const std::string& uid, const CsiVolume& volume) const;
    CsiVolumeData data_of(const CsiVolume& volume) const;

    Services services_;
    std::map<std::string, std::shared_ptr<Entry>> volumes_;
    std::set<std::string> published_;   ///< "<uid>/<name>", by this kubelet
    std::set<std::string> background_;  ///< what runs there
    Scope scope_;
};

}  // namespace porthole::kubelet
