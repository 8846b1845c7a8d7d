#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kubelet/volumes/csi/csi_paths.h"
#include "kubelet/volumes/csi/csi_services.h"
#include "kubelet/volumes/csi/volume_data.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// A volume that pods of this node have or want.
struct CsiNodeVolume {
    std::string driver;
    std::string in_use_name;        ///< "" for one that is never attached
    std::set<std::string> users;    ///< "<uid>/<name>"
    std::set<std::string> holders;  ///< those of the users that have a file
    bool is_staged = false;         ///< by this kubelet
    bool failed_to_grow = false;    ///< and the driver was not at work on it any longer
    bool grows_unused = false;      ///< not while a pod has it
    Semaphore lock{1};
};

/// Which volumes of CSI drivers pods of this node have or want. `services` and `paths` outlive it.
class CsiNodeVolumes {
public:
    using Entry = std::shared_ptr<CsiNodeVolume>;

    CsiNodeVolumes(const CsiServices& services, const CsiPaths& paths) : services_(services), paths_(paths) {}

    /// What earlier kubelets have left, by the files of pods. Those of a pod that is gone are found when it is taken down.
    void load();
    void add_user(const std::string& key, const std::string& driver, const std::string& in_use_name, const std::string& user);
    /// A file says that the user may have the volume.
    Entry add_holder(const CsiVolumeData& data, bool is_block, const std::string& user);
    void remove_user(const std::string& key, const std::string& user);
    /// What the pod waited for and never had.
    void remove_users_of_pod(const std::string& uid);
    /// Null where there is none.
    Entry find(const std::string& key) const;

    /// Whether its driver wants it to be attached, which may change while pods have the volume.
    bool is_attached(const CsiNodeVolume& volume) const;
    /// Of volumes that must not be detached.
    std::vector<std::string> names_in_use() const;

    /// Devices are staged by the volume's name, mounts by its handle.
    static std::string key_of(const CsiVolume& volume);
    static std::string key_of(const CsiVolumeData& data, bool is_block);

private:
    const CsiServices& services_;
    const CsiPaths& paths_;
    std::map<std::string, Entry> volumes_;
};

}  // namespace porthole::kubelet
