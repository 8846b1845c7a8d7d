#pragma once
#include "client/client.h"
#include "client/events.h"
#include "kubelet/container/environment.h"
#include "kubelet/volumes/framework/mounter.h"
#include "runtime/files/file_system.h"
#include "runtime/random.h"

namespace porthole::kubelet {

/// A token for the pod's service account, bound to the pod.
struct ServiceAccountToken {
    std::string token;
    SystemTime expires;
};

/// Where tokens come from. `seconds` is how long one is to be valid; "" as audience is the API server's.
class TokenSource {
public:
    virtual ~TokenSource() = default;
    virtual Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod> pod, std::string audience, std::int64_t seconds) = 0;
    virtual void forget_pod(const std::string& uid) = 0;
};

/// Where image volumes come from.
class ImageVolumes {
public:
    virtual ~ImageVolumes() = default;
    /// Brings the image to the node as its policy says, and shows its files at `directory`, which exists. Safe to repeat. Error: its
    /// message says why the pod waits.
    virtual Task<> mount(std::shared_ptr<const core::Pod> pod, core::ImageVolumeSource source, std::string directory) = 0;
};

class LocalVolumes;

/// What plugins work with. All outlive them and live on `loop`.
struct VolumeServices {
    EventLoop& loop;
    Random& random;
    FileSystem& files;
    Mounter& mounter;
    ObjectSource& objects;
    TokenSource& tokens;
    client::Client& client;
    ImageVolumes* images = nullptr;         ///< null where there are none
    LocalVolumes* local_volumes = nullptr;  ///< as above
    client::EventRecorder* events = nullptr;
};

/// One volume of one pod.
struct VolumeRequest {
    std::shared_ptr<const core::Pod> pod;
    core::Volume volume;
    std::string directory;  ///< the volume's own, not made yet
    ResourceList node_allocatable;

    std::optional<std::uint32_t> fs_group() const {
        const auto& security = pod->spec.security_context;
        if (!security || !security->fs_group) return std::nullopt;
        return static_cast<std::uint32_t>(*security->fs_group);
    }
};

/// One kind of volume. Implement it in a folder of its own and add it to plugins.def.
///
/// One instance serves all pods of a kubelet, on the kubelet's loop. It keeps no state of a volume in memory: the kubelet may restart
/// between calls, so what is set up must be recognizable on disk or among the mounts.
class VolumePlugin {
public:
    virtual ~VolumePlugin() = default;
    virtual const char* name() const = 0;  ///< "kubernetes.io/empty-dir"
    /// Whether this plugin handles `volume`; the first plugin of the list that does is used.
    virtual bool supports(const core::Volume& volume) const = 0;
    /// Creates the volume, or brings it up to date. Safe to repeat: called again in every sync of the pod. Calls for one volume do not
    /// overlap. Yields the path on the node that containers mount. Error: its message becomes the text of the FailedMount event, and
    /// the pod's sync is repeated later. Everything below request.directory is unmounted and deleted by the volume manager.
    virtual Task<std::string> set_up(VolumeRequest request, VolumeServices& services) = 0;
};

/// The claim behind the volume, also an ephemeral one; "" for other kinds.
std::string claim_of(const core::Pod& pod, const core::Volume& volume);

/// Sets group, setgid and group permissions of everything below, as fsGroup asks; `only_if_needed` looks at the top first.
Result<void> apply_fs_group(FileSystem& files, const std::string& path, std::uint32_t group, bool only_if_needed);

}  // namespace porthole::kubelet
