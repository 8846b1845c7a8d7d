#include "kubelet/volumes/host_path/host_path.h"

namespace porthole::kubelet {
namespace {

/// A claim, or the claim that an ephemeral volume stands for, bound to a volume that is a directory of this node.
class PersistentVolumeClaim final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/local-volume"; }
    bool supports(const core::Volume& volume) const override {
        return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
    }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        request.step.text = "Unable to attach or mount volumes: unmounted volumes=[" + request.volume.name +
                            "], unattached volumes=[], failed to process volumes=[" + request.volume.name + "]: ";
        const std::string claim_name = request.volume.ephemeral ? request.pod->metadata.name + "-" + request.volume.name
                                                                : request.volume.persistent_volume_claim->claim_name;
        const client::NamespacedName key{request.pod->metadata.namespace_, claim_name};
        CO_TRY(const auto claim, co_await services.client.get<core::PersistentVolumeClaim>(key));
        if (request.volume.ephemeral && !owned_by(claim, *request.pod))
            co_return Error(Reason::BadRequest,
                            "PVC " + key.text() + " was not created for pod " + pod_key(*request.pod) + " (pod is not owner)");
        if (claim.status.phase != "Bound" || claim.spec.volume_name.empty())
            co_return Error(Reason::BadRequest, "error processing PVC " + key.text() + ": PVC is not bound");
        CO_TRY(const auto volume, co_await services.client.get<core::PersistentVolume>({"", claim.spec.volume_name}));
        if (!volume.spec.claim_ref || volume.spec.claim_ref->uid != claim.metadata.uid)
            co_return Error(Reason::BadRequest,
                            "PVC " + key.text() + " is bound to PV " + volume.metadata.name + " that is bound to another claim");
        CO_TRY_VOID(check_mode(request, volume));
        MountedVolume mounted{.claim = claim_name};
        mounted.read_only = request.volume.persistent_volume_claim && request.volume.persistent_volume_claim->read_only;
        mounted.is_block = mode_of(volume) == core::PersistentVolumeMode::Block;
        if (mounted.is_block) {
            CO_TRY(mounted.path, map_device(request, volume, services));
        } else if (volume.spec.host_path) {
            const core::HostPathVolumeSource& source = *volume.spec.host_path;
            request.step.text = "MountVolume.SetUp failed for volume \"" + volume.metadata.name + "\" : ";
            CO_TRY_VOID(check_host_path(services.files, source.path, source.type.value_or("")));
            mounted.path = source.path;
        } else if (volume.spec.local) {
            CO_TRY(mounted.path, co_await mount_local(request, volume, mounted.read_only, services));
        } else {
            co_return Error(Reason::BadRequest, "this node has no plugin for the kind of volume that PV " + volume.metadata.name + " is");
        }
        co_return mounted;
    }

private:
    static std::string mode_of(const core::PersistentVolume& volume) {
        return volume.spec.volume_mode.value_or(core::PersistentVolumeMode::Filesystem);
    }

    static Result<void> check_mode(const VolumeRequest& request, const core::PersistentVolume& volume) {
        const std::string mode = mode_of(volume), text = "volume " + request.volume.name + " has volumeMode " + mode;
        if (request.mounted && mode != core::PersistentVolumeMode::Filesystem)
            return Error(Reason::BadRequest, text + ", but is specified in volumeMounts");
        if (request.mapped && mode != core::PersistentVolumeMode::Block)
            return Error(Reason::BadRequest, text + ", but is specified in volumeDevices");
        return {};
    }

    static Result<std::string> map_device(const VolumeRequest& request, const core::PersistentVolume& volume, VolumeServices& services) {
        request.step = {"FailedMapVolume", "MapVolume.MapPodDevice failed for volume \"" + volume.metadata.name + "\" : "};
        if (!volume.spec.local)
            return Error(Reason::BadRequest, "this node has no plugin with volumeMode Block for the kind of volume that it is");
        TRY(const FileStatus status, find_local(*volume.spec.local, services.files));
        if (status.type != FileType::BlockDevice) return Error(Reason::BadRequest, volume.spec.local->path + " is not a block device");
        return services.files.real_path(volume.spec.local->path);
    }

    static Task<std::string> mount_local(const VolumeRequest& request, const core::PersistentVolume& volume, bool read_only,
                                         VolumeServices& services) {
        const std::string& path = volume.spec.local->path;
        request.step.text = "MountVolume.NewMounter initialization failed for volume \"" + volume.metadata.name + "\" : ";
        CO_TRY(const FileStatus status, find_local(*volume.spec.local, services.files));
        if (status.type == FileType::BlockDevice)
            co_return Error(Reason::BadRequest, path + " is a block device: this node does not make a file system on it");
        if (!status.is_directory()) co_return Error(Reason::BadRequest, "only directory and block device are supported");
        request.step.text = "MountVolume.SetUp failed for volume \"" + volume.metadata.name + "\" : ";
        if (read_only || request.is_ready(services.files)) co_return path;
        CO_TRY(const std::string real, services.files.real_path(path));
        CO_TRY_VOID(co_await apply_fs_group(real, request.pod, services));
        CO_TRY_VOID(request.set_ready(services.files));
        co_return path;
    }

    static Result<FileStatus> find_local(const core::LocalVolumeSource& source, FileSystem& files) {
        auto status = files.status(source.path);
        if (is_not_found(status)) return Error(Reason::NotFound, "path \"" + source.path + "\" does not exist");
        return status;
    }

    static bool owned_by(const core::PersistentVolumeClaim& claim, const core::Pod& pod) {
        for (const auto& owner : claim.metadata.owner_references)
            if (owner.uid == pod.metadata.uid) return true;
        return false;
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_persistent_volume_claim() { return std::make_unique<PersistentVolumeClaim>(); }

}  // namespace porthole::kubelet
