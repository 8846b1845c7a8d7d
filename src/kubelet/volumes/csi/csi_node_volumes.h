#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/values/quantity.h"
#include "kubelet/volumes/csi/csi_paths.h"
#include "kubelet/volumes/csi/csi_services.h"
#include "kubelet/volumes/csi/volume_data.h"
#include "runtime/scope.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// A volume that pods of this node use or will use, or that may still be staged without users.
struct CsiNodeVolume {
    CsiVolumeData data;
    bool is_block = false;
    std::set<std::string> users;   ///< "<uid>/<name>"
    std::uint64_t departures = 0;  ///< how often the last user was removed
    bool is_staged = false;        ///< by this kubelet, and no driver was called to unstage it since
    bool failed_to_grow = false;   ///< and the driver was not at work on it any longer
    bool grows_unused = false;     ///< not while a pod has it
    std::optional<Quantity> size;  ///< null: not asked for yet
    Semaphore lock{1};             ///< held while a driver is called to change it
};

/// The volumes of CSI drivers on this node: which pods use them, and the unstaging of unused ones.
///
/// A volume's own data file (in its directory, see CsiPaths) means that it may be staged: it exists from before the first call to stage the
/// volume until it is unstaged. A volume without users is unstaged in the background, including those left by an earlier kubelet, with
/// retries until that succeeds or a pod uses it. Until then it counts as in use and must not be detached.
///
/// `services` and `paths` outlive it. close() it before destroying it.
class CsiNodeVolumes {
public:
    using Entry = std::shared_ptr<CsiNodeVolume>;
    static constexpr Duration FirstPause = std::chrono::milliseconds(500), LongestPause = std::chrono::seconds(122);  ///< upstream's

    CsiNodeVolumes(const CsiServices& services, const CsiPaths& paths) : services_(services), paths_(paths), scope_(services.host.loop) {}

    /// Reads the volumes of earlier kubelets: from the files of pods, which count as users until they are taken down, and from the volumes'
    /// own.
    void load();
    Task<> close() { return scope_.close(); }

    Entry add_user(const CsiVolumeData& data, bool is_block, const std::string& user);
    void remove_user(const std::string& key, const std::string& user);
    void remove_users_of_pod(const std::string& uid);
    /// Null if there is none.
    Entry find(const std::string& key) const;

    /// Whether its driver requires attachment, which may change while pods use the volume.
    bool is_attached(const CsiNodeVolume& volume) const;
    /// Of volumes that must not be detached.
    std::vector<std::string> names_in_use() const;

    /// Devices are staged by the volume's name, mounts by its handle.
    static std::string key_of(const CsiVolumeData& data, bool is_block);

private:
    /// False if a file of a pod cannot be read: the pod may have any volume.
    bool load_pods();
    void load_volumes();
    Entry add(const CsiVolumeData& data, bool is_block);
    bool may_be_staged(const CsiNodeVolume& volume) const;
    void unstage_later(Entry entry);
    Task<> unstage_unused(Entry entry, std::uint64_t departure);
    Task<> unstage(CsiVolumeData data, bool is_block);
    Result<void> remove_files(const CsiVolumeData& data, bool is_block);
    void forget(const CsiNodeVolume& volume);

    const CsiServices& services_;
    const CsiPaths& paths_;
    std::map<std::string, Entry> volumes_;
    Scope scope_;
};

}  // namespace porthole::kubelet
