#include <set>

#include "apiserver/kinds/core/flex_volume.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/kinds/core/volume_files.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

void validate_host_path(const HostPathVolumeSource& source, const FieldPath& path, FieldErrors& errors) {
    if (source.path.empty()) return errors.required(path / "path");
    if (("/" + source.path + "/").find("/../") != std::string::npos) errors.invalid(path / "path", source.path, "must not contain '..'");
    if (source.type &&
        !is_one_of(*source.type, {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"})) {
        errors.not_supported(path / "type", *source.type,
                             {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
    }
}

class SourceCheck {
public:
    SourceCheck(const FieldPath& path, FieldErrors& errors) : path_(path), errors_(errors) {}
    bool take(bool present, const char* member) {
        if (!present) return false;
        if (count_++ == 0) return true;
        errors_.forbidden(path_ / member, "may not specify more than 1 volume type");
        return false;
    }
    int count() const { return count_; }

private:
    const FieldPath& path_;
    FieldErrors& errors_;
    int count_ = 0;
};

void validate_source(const Volume& volume, const FieldPath& path, PodSpecIn in, FieldErrors& errors) {
    SourceCheck check(path, errors);
    const auto required = [&](const std::string& text, const FieldPath& at) {
        if (text.empty()) errors.required(at);
    };
    if (check.take(volume.empty_dir.has_value(), "emptyDir") && volume.empty_dir->size_limit && volume.empty_dir->size_limit->is_negative())
        errors.forbidden(path / "emptyDir" / "sizeLimit", "SizeLimit field must be a valid resource quantity");
    if (check.take(volume.host_path.has_value(), "hostPath")) validate_host_path(*volume.host_path, path / "hostPath", errors);
    if (check.take(volume.secret.has_value(), "secret")) {
        required(volume.secret->secret_name, path / "secret" / "secretName");
        check_mode(volume.secret->default_mode, path / "secret" / "defaultMode", errors);
        validate_items(volume.secret->items, path / "secret" / "items", errors);
    }
    if (check.take(volume.config_map.has_value(), "configMap")) {
        required(volume.config_map->name, path / "configMap" / "name");
        check_mode(volume.config_map->default_mode, path / "configMap" / "defaultMode", errors);
        validate_items(volume.config_map->items, path / "configMap" / "items", errors);
    }
    if (check.take(volume.downward_api.has_value(), "downwarAPI")) {
        check_mode(volume.downward_api->default_mode, path / "downwardAPI" / "defaultMode", errors);
        validate_downward_items(volume.downward_api->items, path / "downwardAPI", errors);
    }
    if (check.take(volume.projected.has_value(), "projected")) {
        check_mode(volume.projected->default_mode, path / "projected" / "defaultMode", errors);
        validate_projection_sources(*volume.projected, path / "projected", errors);
    }
    if (check.take(volume.persistent_volume_claim.has_value(), "persistentVolumeClaim"))
        required(volume.persistent_volume_claim->claim_name, path / "persistentVolumeClaim" / "claimName");
    if (check.take(volume.nfs.has_value(), "nfs")) {
        required(volume.nfs->server, path / "nfs" / "server");
        required(volume.nfs->path, path / "nfs" / "path");
        if (!volume.nfs->path.empty() && !volume.nfs->path.starts_with('/'))
            errors.invalid(path / "nfs" / "path", volume.nfs->path, "must be an absolute path");
    }
    if (check.take(volume.csi.has_value(), "csi")) required(volume.csi->driver, path / "csi" / "driver");
    if (check.take(volume.ephemeral.has_value(), "ephemeral") && !volume.ephemeral->volume_claim_template)
        errors.required(path / "ephemeral" / "volumeClaimTemplate");
    if (check.take(volume.image.has_value(), "image") && in == PodSpecIn::Pod)
        required(volume.image->reference, path / "image" / "reference");
    if (check.take(volume.git_repo.has_value(), "gitRepo")) {
        required(volume.git_repo->repository, path / "gitRepo" / "repository");
        check_relative_path(volume.git_repo->directory, path / "gitRepo" / "directory", errors);
    }
    if (check.take(volume.iscsi.has_value(), "iscsi")) {
        required(volume.iscsi->target_portal, path / "iscsi" / "targetPortal");
        required(volume.iscsi->iqn, path / "iscsi" / "iqn");
    }
    check.take(volume.gce_persistent_disk.has_value(), "gcePersistentDisk");
    check.take(volume.aws_elastic_block_store.has_value(), "awsElasticBlockStore");
    check.take(volume.glusterfs.has_value(), "glusterfs");
    check.take(volume.rbd.has_value(), "rbd");
    if (check.take(volume.flex_volume.has_value(), "flexVolume"))
        validate_flex_volume(volume.flex_volume->driver, volume.flex_volume->options, path / "flexVolume", errors);
    check.take(volume.cinder.has_value(), "cinder");
    check.take(volume.cephfs.has_value(), "cephFS");
    check.take(volume.flocker.has_value(), "flocker");
    check.take(volume.fc.has_value(), "fc");
    check.take(volume.azure_file.has_value(), "azureFile");
    check.take(volume.vsphere_volume.has_value(), "vsphereVolume");
    check.take(volume.quobyte.has_value(), "quobyte");
    check.take(volume.azure_disk.has_value(), "azureDisk");
    check.take(volume.photon_persistent_disk.has_value(), "photonPersistentDisk");
    check.take(volume.portworx_volume.has_value(), "portworxVolume");
    check.take(volume.scale_io.has_value(), "scaleIO");
    check.take(volume.storageos.has_value(), "storageos");
    if (check.count() == 0) errors.required(path, "must specify a volume type");
}

}  // namespace

void validate_volumes(const std::vector<Volume>& volumes, const FieldPath& path, PodSpecIn in, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < volumes.size(); ++i) {
        const FieldPath at = path.index(i);
        validate_source(volumes[i], at, in, errors);
        const std::string& name = volumes[i].name;
        if (name.empty()) {
            errors.required(at / "name");
            continue;
        }
        invalid_all(errors, at / "name", name, names::check_dns1123_label(name));
        if (!seen.insert(name).second) errors.duplicate(at / "name", name);
    }
}

}  // namespace porthole::apiserver
