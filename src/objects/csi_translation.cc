#include "objects/csi_translation.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/strings.h"

namespace porthole::objects {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeSource;
using api::core::v1::SecretReference;
using api::core::v1::TopologySelectorTerm;
using api::core::v1::Volume;
using api::storage::v1::StorageClass;
using CsiSource = api::core::v1::CSIPersistentVolumeSource;

namespace {

struct Plugin {
    const char *name, *driver;
    const char* zone_key;  ///< "" for a driver without zones
};

constexpr Plugin AwsEbs{"kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"},
    AzureDisk{"kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"},
    AzureFile{"kubernetes.io/azure-file", "file.csi.azure.com", ""},
    Cinder{"kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"},
    GcePd{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"},
    Portworx{"kubernetes.io/portworx-volume", "pxd.portworx.com", ""},
    VSphere{"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "topology.csi.vmware.com/zone"};
constexpr std::array Plugins{&AwsEbs, &AzureDisk, &AzureFile, &Cinder, &GcePd, &Portworx, &VSphere};

constexpr const char *Zone = "topology.kubernetes.io/zone", *Region = "topology.kubernetes.io/region";
constexpr const char *BetaZone = "failure-domain.beta.kubernetes.io/zone", *BetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view ZoneSeparator = "__";
constexpr const char* VSphereRegionKey = "topology.csi.vmware.com/region";
constexpr const char* Unspecified = "UNSPECIFIED";
constexpr const char* FsTypeParameter = "csi.storage.k8s.io/fstype";
constexpr const char *Managed = "Managed", *StoragePolicy = "storagepolicyname";
constexpr const char *AuthSecretName = "openstorage.io/auth-secret-name", *AuthSecretNamespace = "openstorage.io/auth-secret-namespace";
constexpr const char* AzureResourceGroup = "kubernetes.io/azure-file-resource-group";

template <class Source>
const Plugin* plugin_of_source(const Source& source) {
    if (source.aws_elastic_block_store) return &AwsEbs;
    if (source.azure_disk) return &AzureDisk;
    if (source.azure_file) return &AzureFile;
    if (source.cinder) return &Cinder;
    if (source.gce_persistent_disk) return &GcePd;
    if (source.portworx_volume) return &Portworx;
    if (source.vsphere_volume) return &VSphere;
    return nullptr;
}

const Plugin* plugin_named(const std::string& name) {
    const auto found = std::ranges::find(Plugins, name, [](const Plugin* plugin) { return plugin->name; });
    return found == Plugins.end() ? nullptr : *found;
}

std::string value_in(const std::map<std::string, std::string>& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? "" : found->second;
}

std::vector<std::string> split_by(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
        parts.emplace_back(text.substr(0, at));
        text.remove_prefix(at + separator.size());
    }
    parts.emplace_back(text);
    return parts;
}

Error invalid(std::string message) { return Error(Reason::Invalid, std::move(message)); }

// --- sources: an inline volume's and a PersistentVolume's have the same fields

/// Of "aws://<zone>/vol-…" the last part.
Result<std::string> ebs_volume_id(const std::string& id) {
    constexpr std::string_view Scheme = "aws://";
    if (!id.starts_with(Scheme)) return id;
    const std::size_t path = id.find('/', Scheme.size());
    std::string_view name = path == std::string::npos ? std::string_view() : std::string_view(id).substr(path);
    while (name.starts_with('/')) name.remove_prefix(1);
    while (name.ends_with('/')) name.remove_suffix(1);
    if (!name.starts_with("vol-") || name.contains('/'))
        return invalid("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (" + id + ")");
    return std::string(name);
}

Result<CsiSource> csi_source(const api::core::v1::AWSElasticBlockStoreVolumeSource& source) {
    CsiSource csi{.driver = AwsEbs.driver, .read_only = source.read_only, .fs_type = source.fs_type};
    TRY(csi.volume_handle, ebs_volume_id(source.volume_id));
    csi.volume_attributes["partition"] = std::to_string(source.partition);
    return csi;
}

Result<CsiSource> csi_source(const api::core::v1::AzureDiskVolumeSource& source) {
    if (source.kind && to_lower(*source.kind) != to_lower(Managed))
        return invalid("kind(" + *source.kind + ") is not supported in csi migration");
    CsiSource csi{.driver = AzureDisk.driver,
                  .volume_handle = source.disk_uri,
                  .read_only = source.read_only.value_or(false),
                  .fs_type = source.fs_type.value_or("")};
    csi.volume_attributes["kind"] = Managed;
    if (!source.caching_mode.value_or("").empty()) csi.volume_attributes["cachingmode"] = *source.caching_mode;
    if (source.fs_type) csi.volume_attributes["fstype"] = *source.fs_type;
    return csi;
}

/// Of "azure-storage-account-<account>-secret" the account; any other name is its own.
std::string azure_account(const std::string& secret) {
    constexpr std::string_view Start = "azure-storage-account-", End = "-secret";
    const std::size_t start = secret.find(Start), end = secret.rfind(End);
    if (start == std::string::npos || end == std::string::npos || end <= start + Start.size()) return secret;
    return secret.substr(start + Start.size(), end - start - Start.size());
}

/// `name` is that of the volume, `space` the namespace of its secret.
template <class Source>
CsiSource azure_file_source(const Source& source, const std::string& group, const std::string& name, const std::string& space) {
    CsiSource csi{.driver = AzureFile.driver,
                  .volume_handle = group + "#" + azure_account(source.secret_name) + "#" + source.share_name + "#" + name + "#" + space,
                  .read_only = source.read_only,
                  .volume_attributes = {{"sharename", source.share_name}}};
    csi.node_stage_secret_ref = SecretReference{.name = source.secret_name, .namespace_ = space};
    return csi;
}

template <class Source>
CsiSource cinder_source(const Source& source) {
    return {.driver = Cinder.driver, .volume_handle = source.volume_id, .read_only = source.read_only, .fs_type = source.fs_type};
}

/// "us-central1" for its zones.
Result<std::string> gce_region(const std::vector<std::string>& zones) {
    std::set<std::string> regions;
    for (const std::string& zone : zones) {
        if (std::ranges::count(zone, '-') != 2)
            return invalid("failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: " + zone);
        regions.insert(zone.substr(0, zone.rfind('-')));
    }
    if (regions.size() != 1) return invalid("failed to get region from zones: multiple or no regions gotten from zones");
    return *regions.begin();
}

/// `zones`: of the PersistentVolume's label; none for an inline volume.
Result<CsiSource> gce_source(const api::core::v1::GCEPersistentDiskVolumeSource& source, const std::string& zones) {
    const std::vector<std::string> names = split_by(zones, ZoneSeparator);
    std::string where = "zones/" + (zones.empty() ? Unspecified : zones);
    if (names.size() > 1) {
        TRY(const std::string region, gce_region(names));
        where = "regions/" + region;
    }
    CsiSource csi{.driver = GcePd.driver,
                  .volume_handle = std::string("projects/") + Unspecified + "/" + where + "/disks/" + source.pd_name,
                  .read_only = source.read_only,
                  .fs_type = source.fs_type};
    csi.volume_attributes["partition"] = source.partition == 0 ? "" : std::to_string(source.partition);
    return csi;
}

CsiSource csi_source(const api::core::v1::PortworxVolumeSource& source) {
    return {.driver = Portworx.driver, .volume_handle = source.volume_id, .fs_type = source.fs_type};
}

CsiSource csi_source(const api::core::v1::VsphereVirtualDiskVolumeSource& source) {
    CsiSource csi{.driver = VSphere.driver, .volume_handle = source.volume_path, .fs_type = source.fs_type};
    if (!source.storage_policy_name.empty()) csi.volume_attributes[StoragePolicy] = source.storage_policy_name;
    return csi;
}

// --- topology of PersistentVolumes

template <class Visit>
void visit_expressions(PersistentVolume& volume, Visit&& visit) {
    if (!volume.spec.node_affinity || !volume.spec.node_affinity->required) return;
    for (auto& term : volume.spec.node_affinity->required->node_selector_terms)
        for (auto& expression : term.match_expressions) visit(expression);
}

/// Whether the affinity had the key.
bool rename_key(PersistentVolume& volume, const char* from, const char* to) {
    bool found = false;
    visit_expressions(volume, [&](auto& expression) {
        if (expression.key != from) return;
        expression.key = to;
        found = true;
    });
    return found;
}

void require(PersistentVolume& volume, const char* key, const std::vector<std::string>& values) {
    std::set<std::string> sorted;
    for (const std::string& value : values)
        if (const auto trimmed = trim(value); !trimmed.empty()) sorted.emplace(trimmed);
    if (sorted.empty()) return;
    if (!volume.spec.node_affinity) volume.spec.node_affinity.emplace();
    if (!volume.spec.node_affinity->required) volume.spec.node_affinity->required.emplace();
    auto& terms = volume.spec.node_affinity->required->node_selector_terms;
    if (terms.empty()) terms.emplace_back();
    for (auto& term : terms) term.match_expressions.push_back({.key = key, .operator_ = "In", .values = {sorted.begin(), sorted.end()}});
}

/// Whether the volume uses the zone keys of before Kubernetes 1.17.
bool has_beta_zones(PersistentVolume& volume) {
    bool zone = false, beta = false;
    visit_expressions(volume, [&](const auto& expression) {
        zone = zone || expression.key == Zone;
        beta = beta || expression.key == BetaZone;
    });
    if (zone || beta) return !zone;
    return !volume.metadata.labels.contains(Zone) && volume.metadata.labels.contains(BetaZone);
}

void translate_topology(PersistentVolume& volume, const Plugin& plugin) {
    const bool beta = has_beta_zones(volume), vsphere = &plugin == &VSphere;
    const char *zone = beta ? BetaZone : Zone, *region = beta ? BetaRegion : Region;
    if (!rename_key(volume, zone, plugin.zone_key)) {
        const std::string label = value_in(volume.metadata.labels, zone);
        require(volume, plugin.zone_key, vsphere ? std::vector{label} : split_by(label, ZoneSeparator));
    }
    if (vsphere) {
        if (!rename_key(volume, region, VSphereRegionKey)) require(volume, VSphereRegionKey, {value_in(volume.metadata.labels, region)});
    } else if (beta) {
        rename_key(volume, BetaRegion, Region);
    }
}

/// A disk that can be written by one node at a time was offered as ReadWriteMany by the plug-in.
std::vector<std::string> gce_access_modes(const std::vector<std::string>& modes) {
    const auto offers = [&](const char* mode) { return std::ranges::find(modes, mode) != modes.end(); };
    if (modes.empty()) return {};
    const bool only_reads = offers("ReadOnlyMany") && !offers("ReadWriteOnce") && !offers("ReadWriteMany");
    return {only_reads ? "ReadOnlyMany" : "ReadWriteOnce"};
}

Result<CsiSource> csi_source(const PersistentVolume& volume) {
    const auto& spec = volume.spec;
    if (spec.aws_elastic_block_store) return csi_source(*spec.aws_elastic_block_store);
    if (spec.azure_disk) return csi_source(*spec.azure_disk);
    if (spec.azure_file) {
        const std::string space = spec.azure_file->secret_namespace.value_or(spec.claim_ref ? spec.claim_ref->namespace_ : "");
        if (space.empty()) return invalid("could not find a secret namespace in PersistentVolumeSource or ClaimRef");
        return azure_file_source(*spec.azure_file, value_in(volume.metadata.annotations, AzureResourceGroup), volume.metadata.name, space);
    }
    if (spec.cinder) return cinder_source(*spec.cinder);
    if (spec.gce_persistent_disk) {
        const std::string beta = value_in(volume.metadata.labels, BetaZone);
        return gce_source(*spec.gce_persistent_disk, beta.empty() ? value_in(volume.metadata.labels, Zone) : beta);
    }
    if (spec.vsphere_volume) return csi_source(*spec.vsphere_volume);
    CsiSource csi = csi_source(*spec.portworx_volume);
    const auto& annotations = volume.metadata.annotations;
    if (annotations.contains(AuthSecretName) && annotations.contains(AuthSecretNamespace)) {
        const SecretReference secret{.name = annotations.at(AuthSecretName), .namespace_ = annotations.at(AuthSecretNamespace)};
        for (auto* reference : {&csi.controller_publish_secret_ref, &csi.node_stage_secret_ref, &csi.node_publish_secret_ref,
                                &csi.controller_expand_secret_ref, &csi.node_expand_secret_ref})
            *reference = secret;
    }
    return csi;
}

Result<CsiSource> csi_source(const Volume& volume, const std::string& namespace_) {
    if (volume.aws_elastic_block_store) return csi_source(*volume.aws_elastic_block_store);
    if (volume.azure_disk) return csi_source(*volume.azure_disk);
    if (volume.azure_file) return azure_file_source(*volume.azure_file, "", volume.name, namespace_.empty() ? "default" : namespace_);
    if (volume.cinder) return cinder_source(*volume.cinder);
    if (volume.gce_persistent_disk) return gce_source(*volume.gce_persistent_disk, "");
    if (volume.vsphere_volume) return csi_source(*volume.vsphere_volume);
    return csi_source(*volume.portworx_volume);
}

std::string inline_name(const Volume& volume, const CsiSource& csi) {
    if (volume.azure_disk || volume.azure_file) return csi.volume_handle;
    return csi.driver + "-" + (volume.gce_persistent_disk ? volume.gce_persistent_disk->pd_name : csi.volume_handle);
}

std::string inline_access_mode(const Volume& volume) {
    if (volume.azure_file) return "ReadWriteMany";
    const bool read_only = (volume.gce_persistent_disk && volume.gce_persistent_disk->read_only) ||
                           (volume.portworx_volume && volume.portworx_volume->read_only);
    return read_only ? "ReadOnlyMany" : "ReadWriteOnce";
}

// --- classes

/// The parameter of the driver for one of the in-tree plug-in; "" for one that is dropped.
std::vector<std::string> parameter_names(const Plugin& plugin, const std::string& name) {
    const std::string lower = to_lower(name);
    if (&plugin == &AzureFile) return {name};
    if (&plugin == &Portworx) {
        const bool is_name = lower == AuthSecretName;
        if (!is_name && lower != AuthSecretNamespace) return {name};
        std::vector<std::string> names;
        for (const char* use : {"provisioner", "controller-publish", "node-publish", "node-stage", "controller-expand", "node-expand"})
            names.push_back(std::string("csi.storage.k8s.io/") + use + (is_name ? "-secret-name" : "-secret-namespace"));
        return names;
    }
    if (lower == "fstype" && &plugin != &AzureDisk) return {FsTypeParameter};
    if (&plugin != &VSphere) return {name};
    if (lower == StoragePolicy) return {StoragePolicy};
    for (const char* known : {"datastore", "diskformat", "hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes",
                              "objectspacereservation", "iopslimit"})
        if (lower == known) return {lower + "-migrationparam"};
    return {};
}

bool has_zone_parameters(const Plugin& plugin) { return &plugin == &AwsEbs || &plugin == &AzureDisk || &plugin == &GcePd; }

void rename_zone_keys(std::vector<TopologySelectorTerm>& terms, const Plugin& plugin) {
    for (auto& term : terms)
        for (auto& expression : term.match_label_expressions)
            if (expression.key == Zone || expression.key == BetaZone) expression.key = plugin.zone_key;
}

/// Azure regions without zones count fault domains; the driver knows those nodes by the empty zone.
void clear_fault_domains(std::vector<TopologySelectorTerm>& terms) {
    const auto is_number = [](const std::string& text) {
        return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    for (auto& term : terms)
        for (auto& expression : term.match_label_expressions)
            if (expression.key == AzureDisk.zone_key)
                for (std::string& value : expression.values)
                    if (is_number(value)) value.clear();
}

}  // namespace

std::string driver_of_in_tree_plugin(const std::string& plugin) {
    const Plugin* found = plugin_named(plugin);
    return found ? found->driver : "";
}

std::string in_tree_plugin_of_driver(const std::string& driver) {
    const auto found = std::ranges::find(Plugins, driver, [](const Plugin* plugin) { return plugin->driver; });
    return found == Plugins.end() ? "" : (*found)->name;
}

std::vector<std::string> in_tree_plugins() {
    std::vector<std::string> names;
    for (const Plugin* plugin : Plugins) names.emplace_back(plugin->name);
    return names;
}

std::string in_tree_plugin_of(const PersistentVolume& volume) {
    const Plugin* found = plugin_of_source(volume.spec);
    return found ? found->name : "";
}

std::string in_tree_plugin_of(const Volume& volume) {
    const Plugin* found = plugin_of_source(volume);
    return found ? found->name : "";
}

Result<PersistentVolume> translated_to_csi(PersistentVolume volume) {
    const Plugin* plugin = plugin_of_source(volume.spec);
    if (!plugin) return volume;
    TRY(CsiSource csi, csi_source(volume));
    if (*plugin->zone_key) translate_topology(volume, *plugin);
    if (plugin == &GcePd) volume.spec.access_modes = gce_access_modes(volume.spec.access_modes);
    static_cast<PersistentVolumeSource&>(volume.spec) = PersistentVolumeSource();
    volume.spec.csi = std::move(csi);
    return volume;
}

Result<std::optional<PersistentVolume>> translated_to_csi(const Volume& volume, const std::string& namespace_) {
    if (!plugin_of_source(volume)) return std::optional<PersistentVolume>();
    TRY(CsiSource csi, csi_source(volume, namespace_));
    PersistentVolume made;
    made.metadata.name = inline_name(volume, csi);
    made.spec.access_modes = {inline_access_mode(volume)};
    made.spec.volume_mode = "Filesystem";
    made.spec.csi = std::move(csi);
    return std::optional(std::move(made));
}

Result<StorageClass> translated_to_csi(StorageClass storage_class) {
    const Plugin* plugin = plugin_named(storage_class.provisioner);
    if (!plugin) return storage_class;
    std::map<std::string, std::string> parameters;
    std::vector<std::string> zones;
    for (const auto& [name, value] : storage_class.parameters) {
        const std::string lower = to_lower(name);
        if (has_zone_parameters(*plugin) && (lower == "zone" || lower == "zones")) {
            zones = lower == "zone" ? std::vector{value} : split(value, ',');
            continue;
        }
        for (const std::string& translated : parameter_names(*plugin, name)) parameters[translated] = value;
        if (plugin == &AwsEbs && lower == "iopspergb") parameters["allowautoiopspergbincrease"] = "true";
    }
    if (plugin == &VSphere) parameters["csimigration"] = "true";
    if (plugin == &Portworx) storage_class.provisioner = plugin->driver;
    storage_class.parameters = std::move(parameters);
    if (!zones.empty()) {
        if (!storage_class.allowed_topologies.empty())
            return invalid("cannot simultaneously set allowed topologies and zone/zones parameters");
        storage_class.allowed_topologies = {{.match_label_expressions = {{.key = plugin->zone_key, .values = std::move(zones)}}}};
    } else if (*plugin->zone_key) {
        rename_zone_keys(storage_class.allowed_topologies, *plugin);
    }
    if (plugin == &AzureDisk) clear_fault_domains(storage_class.allowed_topologies);
    return storage_class;
}

}  // namespace porthole::objects
