#pragma once
#include <map>
#include <set>

#include "base/log.h"
#include "kubelet/cri/cri.h"
#include "runtime/files/file_system.h"
#include "runtime/random.h"

namespace porthole::kubelet {

/// User and group ids of the node: `length` of them from `first` on. A pod sees them as 0, 1, 2, …
struct IdRange {
    std::uint64_t first = 0, length = 0;

    std::uint64_t end() const { return first + length; }
    bool overlaps(const IdRange& other) const { return first < other.end() && other.first < end(); }
    bool operator==(const IdRange&) const = default;
};

/// As the container runtime is told of it: users and groups alike.
cri::UserNamespace pod_user_namespace(const IdRange& ids);

/// Gives each pod that asks for a user namespace a range of ids that no other pod of this kubelet has, above the first 65536, which belong
/// to the node. The range is recorded in the pod's folder, in upstream's file `userns`, so that it survives the kubelet, and is the pod's
/// until release(). Used on the kubelet's loop; `files` and `random` outlive it.
class UserNamespaces {
public:
    static constexpr std::uint64_t Unit = 65536;  ///< ids_per_pod is a multiple of it

    struct Settings {
        std::string pods_directory;  ///< "/var/lib/kubelet/pods": with one folder for each pod, named by its uid
        std::uint64_t ids_per_pod = Unit;
        std::int64_t max_pods = 110;
    };
    /// Reads the node's ids from /etc/subuid and /etc/subgid, if they have a line for the user `kubelet`; otherwise they are all that there
    /// are. If they are unfit, ensure() says why.
    UserNamespaces(FileSystem& files, Random& random, Logger log, Settings settings);

    /// Takes over what was recorded by the kubelet before. Call it once, before any other function.
    void restore(const std::vector<std::string>& pod_uids);
    /// The pod's range; a pod that has none gets one. Its folder exists. Errors: Conflict if all ranges are taken, or if the record of any
    /// pod cannot be trusted, as its ids could then be given twice; Io.
    Result<IdRange> ensure(const std::string& uid);
    /// The range that the pod has. Error: NotFound.
    Result<IdRange> find(const std::string& uid) const;
    /// The pod's folder is gone, and nothing of the pod runs.
    void release(const std::string& uid);

private:
    std::string record_path(const std::string& uid) const { return settings_.pods_directory + "/" + uid + "/userns"; }
    bool is_free(const IdRange& ids) const;
    Result<IdRange> pick();

    FileSystem& files_;
    Random& random_;
    Logger log_;
    Settings settings_;
    Result<IdRange> pool_;
    std::map<std::string, IdRange> ranges_;  ///< by the pod's uid
    std::set<std::string> damaged_;          ///< pods whose record cannot be trusted
};

}  // namespace porthole::kubelet
