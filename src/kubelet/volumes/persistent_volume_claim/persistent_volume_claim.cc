#include <charconv>

#include "client/client.h"
#include "kubelet/pod/pod.h"
#include "kubelet/volumes/block_devices/device_plugins.h"
#include "kubelet/volumes/csi/csi_volumes.h"
#include "kubelet/volumes/flex_volume/flex_volumes.h"
#include "kubelet/volumes/host_path/host_path.h"
#include "kubelet/volumes/local_volume/local_volumes.h"
#include "kubelet/volumes/nfs/nfs.h"
#include "kubelet/volumes/persistent_volume_claim/claim_growth.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "objects/csi_translation.h"
#include "objects/local_volume.h"
#include "objects/owners.h"
#include "runtime/worker_pool.h"
#include "windows/support.h"

namespace porthole::kubelet {
namespace {

namespace local_volume = objects::local_volume;

/// A claim, or the claim that an ephemeral volume stands for, bound to a volume that is a directory of this node, was made for it by the
/// provisioner of local volumes, or is a CSI driver's, also by the name of the in-tree plug-in that it replaced.
class PersistentVolumeClaim final : public VolumePlugin {
public:
    explicit PersistentVolumeClaim(const VolumeDependencies& given) : host_(given.host), api_(given.api), providers_(given.providers) {}
    const char* name() const override { return "kubernetes.io/local-volume"; }
    bool supports(const core::Volume& volume) const override {
        return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
    }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        request.step.text = "Unable to attach or mount volumes: unmounted volumes=[" + request.volume.name +
                            "], unattached volumes=[], failed to process volumes=[" + request.volume.name + "]: ";
        CO_TRY(const ClaimRef claim, co_await find_claim(request));
        CO_TRY(const VolumeRef volume, co_await find_volume(*claim));
        CO_TRY_VOID(check_mode(request, *volume));
        CO_TRY(const std::string context, co_await selinux_context(request, *volume));
        CO_TRY(MountedVolume mounted, co_await set_up_kind(claim, volume, request, is_read_only(request), context));
        mounted.claim = claim->metadata.name;
        mounted.group = group_of(*volume);
        co_return mounted;
    }

private:
    using ClaimRef = std::shared_ptr<const core::PersistentVolumeClaim>;
    using VolumeRef = std::shared_ptr<const core::PersistentVolume>;

    static bool is_read_only(const VolumeRequest& request) {
        const auto& source = request.volume.persistent_volume_claim;
        return source && source->read_only;
    }

    static Error problem_of(const client::NamespacedName& claim, Error error, const std::string& step = "") {
        if (error.reason == Reason::Cancelled) return error;
        return Error(error.reason, "error processing PVC " + claim.text() + ": " + step + error.message);
    }

    /// The claim, if it is bound and the pod may use it.
    Task<ClaimRef> find_claim(const VolumeRequest& request) {
        const client::NamespacedName key{request.pod->metadata.namespace_, claim_of(*request.pod, request.volume)};
        auto found = co_await api_.client.get<core::PersistentVolumeClaim>(key);
        if (!found) co_return problem_of(key, std::move(found).error(), "failed to fetch PVC from API server: ");
        core::PersistentVolumeClaim claim = *std::move(found);
        if (request.volume.ephemeral && !owned_by(claim, *request.pod))
            co_return Error(Reason::BadRequest,
                            "PVC " + key.text() + " was not created for pod " + pod_key(*request.pod) + " (pod is not owner)");
        // While it has the finalizer, its protection waits for the pods that have it: they keep it, and may start containers again.
        if (claim.metadata.deletion_timestamp && !objects::has_finalizer(claim.metadata, "kubernetes.io/pvc-protection"))
            co_return problem_of(key, Error(Reason::BadRequest, "PVC is being deleted"));
        if (claim.status.phase != "Bound") co_return problem_of(key, Error(Reason::BadRequest, "PVC is not bound"));
        if (claim.spec.volume_name.empty()) co_return problem_of(key, Error(Reason::BadRequest, "PVC has empty pvc.Spec.VolumeName"));
        co_return std::make_shared<const core::PersistentVolumeClaim>(std::move(claim));
    }

    Task<VolumeRef> find_volume(const core::PersistentVolumeClaim& claim) {
        const client::NamespacedName key{claim.metadata.namespace_, claim.metadata.name};
        const std::string& name = claim.spec.volume_name;
        auto found = co_await api_.client.get<core::PersistentVolume>({"", name});
        if (!found) co_return problem_of(key, std::move(found).error(), "failed to fetch PV " + name + " from API server: ");
        core::PersistentVolume volume = *std::move(found);
        const auto& reference = volume.spec.claim_ref;
        const std::string text = "found PV object " + name + " but ";
        if (!reference)
            co_return problem_of(
                key, Error(Reason::BadRequest, text + "it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"));
        if (reference->uid != claim.metadata.uid)
            co_return problem_of(key, Error(Reason::BadRequest, text + "its pv.Spec.ClaimRef.UID " + reference->uid +
                                                                    " does not point to claim.UID " + claim.metadata.uid));
        auto translated = objects::translated_to_csi(std::move(volume));
        if (!translated) co_return problem_of(key, std::move(translated).error(), "failed to translate PV " + name + " to CSI: ");
        co_return std::make_shared<const core::PersistentVolume>(*std::move(translated));
    }

    /// What it is to be mounted with; "" for none.
    Task<std::string> selinux_context(const VolumeRequest& request, const core::PersistentVolume& volume) {
        if (!host_.selinux) co_return std::string();
        const auto& spec = volume.spec;
        SelinuxContexts::Volume seen{.name = volume.metadata.name, .plugin = "", .access_modes = spec.access_modes};
        if (is_on_device(volume)) {
            seen.plugin = spec.iscsi ? "kubernetes.io/iscsi" : "kubernetes.io/fc";
            seen.takes_context = true;
        } else if (spec.csi && providers_.csi && !local_volume::is_local(volume)) {
            seen.plugin = "kubernetes.io/csi/" + spec.csi->driver;
            CO_TRY(seen.takes_context, co_await providers_.csi->takes_context(spec.csi->driver));
        }
        co_return host_.selinux->admit(*request.pod, request.volume.name, seen);
    }

    Task<MountedVolume> set_up_kind(ClaimRef claim, VolumeRef volume, const VolumeRequest& request, bool read_only, std::string context) {
        const auto& spec = volume->spec;
        const auto say = [&](const char* step) { request.step.text = step + (" for volume \"" + volume->metadata.name + "\" : "); };
        MountedVolume mounted{.read_only = read_only, .is_block = mode_of(*volume) == core::PersistentVolumeMode::Block};
        if (spec.csi && !local_volume::is_local(*volume)) co_return co_await set_up_csi(claim, volume, request, read_only, context);
        if (is_on_device(*volume)) {
            say("MountVolume.WaitForAttach failed");
            co_return co_await set_up_device(request, volume, read_only, context, api_.client, providers_.devices);
        }
        if (mounted.is_block) {
            CO_TRY(mounted.path, co_await map_device(request, *volume));
            CO_TRY_VOID(co_await grow_local(claim, volume, request));
            co_return mounted;
        }
        if (spec.host_path) {
            say("MountVolume.SetUp failed");
            CO_TRY_VOID(co_await check_host_path(*spec.host_path, host_));
            mounted.path = spec.host_path->path;
            co_return mounted;
        }
        if (spec.local) {
            CO_TRY(mounted.path, co_await mount_local(request, *volume, read_only));
            mounted.relabel = !read_only;
            CO_TRY_VOID(co_await grow_local(claim, volume, request));
            co_return mounted;
        }
        if (local_volume::is_local(*volume) && providers_.local) {
            say("MountVolume.SetUp failed");
            CO_TRY(mounted.path, co_await set_up_local(claim, volume, request, read_only));
            mounted.relabel = !read_only;
            co_return mounted;
        }
        if (spec.flex_volume) co_return co_await set_up_flex(request, volume, read_only);
        if (spec.nfs) {
            say("MountVolume.SetUp failed");
            CO_TRY(MountedVolume share, co_await mount_nfs(request, *volume));
            share.read_only |= read_only;
            co_return share;
        }
        co_return Error(Reason::BadRequest, "this node has no plugin for the kind of volume that PV " + volume->metadata.name + " is");
    }

    static std::string mode_of(const core::PersistentVolume& volume) {
        return volume.spec.volume_mode.value_or(core::PersistentVolumeMode::Filesystem);
    }

    /// Whoever made the volume says so. What the API would not accept as a pod's group is ignored.
    static std::optional<std::int64_t> group_of(const core::PersistentVolume& volume) {
        const auto found = volume.metadata.annotations.find("pv.beta.kubernetes.io/gid");
        if (found == volume.metadata.annotations.end()) return std::nullopt;
        const std::string& text = found->second;
        std::int32_t group = -1;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group);
        if (error != std::errc() || end != text.data() + text.size() || group < 0) return std::nullopt;
        return group;
    }

    static Result<void> check_mode(const VolumeRequest& request, const core::PersistentVolume& volume) {
        const std::string mode = mode_of(volume), text = "volume " + request.volume.name + " has volumeMode " + mode;
        if (request.mounted && mode != core::PersistentVolumeMode::Filesystem)
            return Error(Reason::BadRequest, text + ", but is specified in volumeMounts");
        if (request.mapped && mode != core::PersistentVolumeMode::Block)
            return Error(Reason::BadRequest, text + ", but is specified in volumeDevices");
        return {};
    }

    Task<std::string> map_device(const VolumeRequest& request, const core::PersistentVolume& volume) {
        request.step = {"FailedMapVolume", "MapVolume.MapPodDevice failed for volume \"" + volume.metadata.name + "\" : "};
        if (!volume.spec.local)
            co_return Error(Reason::BadRequest, "this node has no plugin with volumeMode Block for this kind of volume");
        CO_TRY(const LocalPath found, co_await find_local(*volume.spec.local));
        if (found.type != FileType::BlockDevice) co_return Error(Reason::BadRequest, volume.spec.local->path + " is not a block device");
        co_return found.real;
    }

    Task<std::string> mount_local(const VolumeRequest& request, const core::PersistentVolume& volume, bool read_only) {
        const std::string& path = volume.spec.local->path;
        request.step.text = "MountVolume.NewMounter initialization failed for volume \"" + volume.metadata.name + "\" : ";
        CO_TRY(const LocalPath found, co_await find_local(*volume.spec.local));
        if (found.type == FileType::BlockDevice) co_return co_await mount_local_device(request, volume, read_only);
        if (found.type != FileType::Directory) co_return Error(Reason::BadRequest, "only directory and block device are supported");
        request.step.text = "MountVolume.SetUp failed for volume \"" + volume.metadata.name + "\" : ";
        if (read_only || request.is_ready(host_.files)) co_return path;
        CO_TRY_VOID(co_await apply_fs_group(found.real, request.pod, host_));
        CO_TRY_VOID(request.set_ready(host_.files));
        co_return path;
    }

    Task<std::string> mount_local_device(const VolumeRequest& request, const core::PersistentVolume& volume, bool read_only) {
        if (!providers_.devices)
            co_return Error(Reason::BadRequest,
                            volume.spec.local->path + " is a block device: this node does not make a file system on it");
        CO_TRY(const MountedVolume mounted, co_await providers_.devices->set_up(request, local_device(volume, read_only)));
        co_return mounted.path;
    }

    static DeviceVolume local_device(const core::PersistentVolume& volume, bool read_only) {
        DeviceVolume wanted{.kind = "local-volume", .details = {{"path", volume.spec.local->path}}, .read_only = read_only};
        wanted.fs_type = volume.spec.local->fs_type.value_or("");
        wanted.mount_options = volume.spec.mount_options;
        return wanted;
    }

    /// Whoever enlarged the disk says so in the volume; the node's part is the file system. A directory, and a block device that the pod
    /// has as it is, have none.
    Task<> grow_local(ClaimRef claim, VolumeRef volume, const VolumeRequest& request) {
        auto growth = ClaimGrowth::find(claim, volume, request.pod);
        if (!growth || !volume->spec.local) co_return {};
        if (is_read_only(request)) {
            growth->refuse_read_only(api_.events);
            co_return {};
        }
        CO_TRY(const LocalPath found, co_await find_local(*volume->spec.local));
        CO_TRY_VOID(co_await growth->begin(api_.client));
        Result<void> grown;
        if (found.type == FileType::BlockDevice && mode_of(*volume) == core::PersistentVolumeMode::Filesystem)
            grown = co_await providers_.devices->grow(local_device(*volume, false));
        if (is_cancelled(grown)) co_return grown;
        if (grown) co_return co_await growth->succeed(api_);
        co_return co_await growth->fail(grown.error(), host_.loop.wall_now(), api_);
    }

    Task<MountedVolume> mount_nfs(const VolumeRequest& request, const core::PersistentVolume& volume) {
        core::Volume same;
        same.nfs = volume.spec.nfs;
        if (const std::string refusal = host_.windows ? windows::volume_refusal(same) : ""; !refusal.empty())
            co_return Error(Reason::BadRequest, refusal);
        co_return co_await set_up_nfs(*volume.spec.nfs, volume.spec.mount_options, request.directory, host_);
    }

    /// Without a namespace the secret is in the pod's.
    Task<MountedVolume> set_up_flex(const VolumeRequest& request, VolumeRef volume, bool read_only) {
        if (!providers_.flex) co_return Error(Reason::BadRequest, "FlexVolume drivers are not supported on this node");
        client::NamespacedName secret{request.pod->metadata.namespace_, ""};
        if (const auto& reference = volume->spec.flex_volume->secret_ref) {
            secret.name = reference->name;
            if (!reference->namespace_.empty()) secret.namespace_ = reference->namespace_;
        }
        co_return co_await providers_.flex->set_up(request, flex_volume_of(*volume, read_only), std::move(secret));
    }

    struct LocalPath {
        FileType type;
        std::string real;  ///< without links
    };
    /// By a worker: the path may be on a disk or a server that does not answer.
    Task<LocalPath> find_local(core::LocalVolumeSource source) {
        co_return co_await run_blocking<LocalPath>(host_.workers, [&]() -> Result<LocalPath> {
            const auto status = host_.files.status(source.path);
            if (is_not_found(status)) return Error(Reason::NotFound, "path \"" + source.path + "\" does not exist");
            if (!status) return status.error();
            TRY(std::string real, host_.files.real_path(source.path));
            return LocalPath{status->type, std::move(real)};
        });
    }

    Task<std::string> set_up_local(ClaimRef claim, VolumeRef volume, const VolumeRequest& request, bool read_only) {
        // A pod that was bound by hand must not find an empty volume where its data are not.
        if (const std::string node = local_volume::node_of(*volume); node != request.pod->spec.node_name)
            co_return Error(Reason::BadRequest, "PV " + volume->metadata.name + " is on node \"" + node + "\"");
        auto growth = ClaimGrowth::find(claim, volume, request.pod);
        Result<bool> grown = false;
        if (growth) grown = co_await providers_.local->grow_unmounted(volume, request.directory);
        if (is_cancelled(grown)) co_return grown.error();
        CO_TRY(std::string path, co_await providers_.local->set_up(volume, request.directory));
        if (growth && grown && !*grown) {
            const auto mounted = providers_.local->grow(*volume, request.directory);
            if (!mounted) grown = mounted.error();
        }
        if (growth) {
            Task<> told = grown ? growth->succeed(api_) : growth->fail(grown.error(), host_.loop.wall_now(), api_);
            CO_TRY_VOID(co_await std::move(told));
        }
        if (read_only || request.is_ready(host_.files)) co_return path;
        CO_TRY_VOID(co_await apply_fs_group(path, request.pod, host_));
        CO_TRY_VOID(request.set_ready(host_.files));
        co_return path;
    }

    Task<MountedVolume> set_up_csi(ClaimRef claim, VolumeRef volume, const VolumeRequest& request, bool read_only, std::string context) {
        if (!providers_.csi) co_return Error(Reason::BadRequest, "CSI volumes are not supported on this node");
        CsiVolume wanted = CsiVolume::of(*volume, read_only);
        wanted.context = std::move(context);
        const bool is_running = providers_.csi->is_published(request.pod->metadata.uid, wanted);
        CO_TRY(const MountedVolume mounted, co_await providers_.csi->set_up(request, wanted));
        const auto known = claim->status.capacity.find("storage");
        const bool has_size = known == claim->status.capacity.end() || providers_.csi->has_size(wanted, known->second);
        auto growth = ClaimGrowth::find(claim, volume, request.pod);
        if (growth && read_only) growth->refuse_read_only(api_.events);
        if (!growth && !has_size) growth = ClaimGrowth::find_further(claim, volume, request.pod);
        if (!growth || read_only) co_return mounted;
        if (is_running)
            providers_.csi->in_background("grow " + request.pod->metadata.uid + "/" + wanted.name,
                                          grow_csi(std::move(*growth), wanted, mounted.path));
        else
            CO_TRY_VOID(co_await grow_csi(std::move(*growth), wanted, mounted.path));
        co_return mounted;
    }

    Task<> grow_csi(ClaimGrowth growth, CsiVolume volume, std::string path) {
        CO_TRY_VOID(co_await growth.begin(api_.client));
        const auto grown = co_await providers_.csi->expand(volume, path, growth.size(), growth.is_outdated());
        if (is_cancelled(grown)) co_return grown;
        if (grown) co_return co_await growth.succeed(api_);
        co_return co_await growth.fail(grown.error(), host_.loop.wall_now(), api_);
    }

    static bool owned_by(const core::PersistentVolumeClaim& claim, const core::Pod& pod) {
        for (const auto& owner : claim.metadata.owner_references)
            if (owner.uid == pod.metadata.uid) return true;
        return false;
    }

    const VolumeHost& host_;
    const VolumeApi& api_;
    VolumeProviders providers_;
};

}  // namespace

std::unique_ptr<VolumePlugin> make_persistent_volume_claim(const VolumeDependencies& given) {
    return std::make_unique<PersistentVolumeClaim>(given);
}

}  // namespace porthole::kubelet
