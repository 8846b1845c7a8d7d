#include <set>

#include "apiserver/kinds/core/flex_volume.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr std::int64_t ShortestToken = 600;

void check_mode(const std::optional<std::int32_t>& mode, const FieldPath& path, FieldErrors& errors) {
    if (mode && (*mode < 0 || *mode > 0777)) errors.invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

void validate_items(const std::vector<KeyToPath>& items, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const FieldPath at = path.index(i);
        if (items[i].key.empty()) errors.required(at / "key");
        if (items[i].path.empty())
            errors.required(at / "path");
        else
            check_path_in_volume(items[i].path, at / "path", errors);
        check_mode(items[i].mode, at / "mode", errors);
    }
}

void validate_downward_items(const std::vector<DownwardAPIVolumeFile>& items, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const DownwardAPIVolumeFile& item = items[i];
        const FieldPath at = path.index(i);
        if (item.path.empty())
            errors.required(path / "path");
        else
            check_path_in_volume(item.path, path / "path", errors);
        if (item.field_ref && item.resource_field_ref) {
            errors.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
        } else if (item.field_ref) {
            const std::string& field = item.field_ref->field_path;
            const FieldPath reference = at / "fieldRef";
            const bool subscripted = field.starts_with("metadata.labels['") || field.starts_with("metadata.annotations['");
            if (field.empty())
                errors.required(reference / "fieldPath");
            else if (!subscripted &&
                     !is_one_of(field, {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"}))
                errors.not_supported(reference / "fieldPath", field,
                                     {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"});
        } else if (item.resource_field_ref) {
            if (item.resource_field_ref->container_name.empty()) errors.required(at / "resourceFieldRef" / "containerName");
            if (item.resource_field_ref->resource.empty()) errors.required(at / "resourceFieldRef" / "resource");
        } else {
            errors.required(at / "fieldRef", "one of fieldRef and resourceFieldRef is required");
        }
        check_mode(item.mode, at / "mode", errors);
    }
}

void validate_projection(const VolumeProjection& source, const FieldPath& path, PodSpecIn, FieldErrors& errors) {
    int count = 0;
    const auto take = [&](bool present, const char* member) {
        if (!present) return false;
        if (count++ == 0) return true;
        errors.forbidden(path / member, "may not specify more than 1 volume type per source");
        return false;
    };
    if (take(source.secret.has_value(), "secret")) {
        if (source.secret->name.empty()) errors.required(path / "secret" / "name");
        validate_items(source.secret->items, path / "secret" / "items", errors);
    }
    if (take(source.config_map.has_value(), "configMap")) {
        if (source.config_map->name.empty()) errors.required(path / "configMap" / "name");
        validate_items(source.config_map->items, path / "configMap" / "items", errors);
    }
    if (take(source.downward_api.has_value(), "downwardAPI"))
        validate_downward_items(source.downward_api->items, path / "downwardAPI", errors);
    if (take(source.service_account_token.has_value(), "serviceAccountToken")) {
        const auto& token = *source.service_account_token;
        const FieldPath at = path / "serviceAccountToken";
        if (token.expiration_seconds && *token.expiration_seconds < ShortestToken)
            errors.invalid(at / "expirationSeconds", *token.expiration_seconds, "may not specify a duration less than 10 minutes");
        if (token.expiration_seconds && *token.expiration_seconds > (std::int64_t{1} << 32))
            errors.invalid(at / "expirationSeconds", *token.expiration_seconds, "may not specify a duration larger than 2^32 seconds");
        if (token.path.empty())
            errors.required(at / "path");
        else
            check_path_in_volume(token.path, at / "path", errors);
    }
    if (take(source.cluster_trust_bundle.has_value(), "clusterTrustBundle") && source.cluster_trust_bundle->path.empty())
        errors.required(path / "clusterTrustBundle" / "path");
    (void)take(source.pod_certificate.has_value(), "podCertificate");
}

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
        for (std::size_t i = 0; i < volume.projected->sources.size(); ++i)
            validate_projection(volume.projected->sources[i], (path / "projected" / "sources").index(i), in, errors);
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
