#include "apiserver/admission/plugins/pod_references.h"

#include <algorithm>
#include <array>

#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using schema::Value;

/// Volumes that a node can make by itself. Their secretRefs are found by any_reference.
constexpr std::array<std::string_view, 25> VolumesWithoutObjects = {"awsElasticBlockStore",
                                                                    "azureDisk",
                                                                    "cephfs",
                                                                    "cinder",
                                                                    "downwardAPI",
                                                                    "emptyDir",
                                                                    "fc",
                                                                    "flexVolume",
                                                                    "flocker",
                                                                    "gcePersistentDisk",
                                                                    "gitRepo",
                                                                    "hostPath",
                                                                    "image",
                                                                    "iscsi",
                                                                    "nfs",
                                                                    "photonPersistentDisk",
                                                                    "portworxVolume",
                                                                    "quobyte",
                                                                    "rbd",
                                                                    "scaleIO",
                                                                    "storageos",
                                                                    "vsphereVolume"};

/// Looks for a member that refers to a secret or config map, however deep: wherever the API has one, it has one of these names.
std::string any_reference(const Value& value) {
    if (value.is_array()) {
        for (const Value& item : value.as_array())
            if (std::string found = any_reference(item); !found.empty()) return found;
    }
    if (!value.is_object()) return "";
    for (const schema::Member& member : value.as_object()) {
        if (member.key == "secretKeyRef" || member.key == "secretRef" || member.key == "imagePullSecrets") return "secrets";
        if (member.key == "configMapKeyRef" || member.key == "configMapRef") return "configmaps";
        if (std::string found = any_reference(member.value); !found.empty()) return found;
    }
    return "";
}

std::string projected_reference(const ProjectedVolumeSource& projected) {
    for (const VolumeProjection& source : projected.sources) {
        if (source.config_map) return "configmaps (via projected volumes)";
        if (source.secret) return "secrets (via projected volumes)";
        if (source.service_account_token) return "serviceaccounts (via projected volumes)";
        if (source.cluster_trust_bundle) return "clustertrustbundles";
        if (source.pod_certificate) return "podcertificates";
        if (source.downward_api) continue;
        return "objects of an unknown sort (via projected volumes)";
    }
    return "";
}

std::string volume_reference(const Volume& volume) {
    if (volume.config_map) return "configmaps (via configmap volumes)";
    if (volume.secret) return "secrets (via secret volumes)";
    if (volume.csi) return "csidrivers (via CSI volumes)";
    if (volume.persistent_volume_claim) return "persistentvolumeclaims";
    if (volume.ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
    if (volume.projected) return projected_reference(*volume.projected);
    const Value tree = schema::to_value(volume);
    for (const schema::Member& member : tree.as_object()) {
        if (member.key == "name" || std::ranges::find(VolumesWithoutObjects, member.key) != VolumesWithoutObjects.end()) continue;
        if (member.key == "glusterfs") return "endpoints (via glusterFS volumes)";
        if (member.key == "azureFile") return "secrets (via azureFile volumes)";
        return "objects of an unknown sort (via " + member.key + " volumes)";
    }
    return "";
}

}  // namespace

std::string api_reference_of(const Pod& pod) {
    if (!pod.spec.service_account_name.empty() || !pod.spec.service_account.empty()) return "serviceaccounts";
    if (std::string found = any_reference(schema::to_value(pod.spec)); !found.empty()) return found;
    if (!pod.spec.resource_claims.empty()) return "resourceclaims";
    for (const Volume& volume : pod.spec.volumes)
        if (std::string found = volume_reference(volume); !found.empty()) return found;
    return "";
}

}  // namespace porthole::apiserver
