#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/flex_volume.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/kinds/core/volume_spec.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/resource_names.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;

void validate_access_modes(const std::vector<std::string>& modes, const FieldPath& path, std::string_view when_missing,
                           FieldErrors& errors) {
    if (modes.empty()) errors.required(path, when_missing);
    bool alone = false;
    for (const std::string& mode : modes) {
        if (!is_one_of(mode, {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}))
            errors.not_supported(path, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
        alone = alone || mode == "ReadWriteOncePod";
    }
    if (alone && modes.size() > 1) errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

void check_volume_mode(const std::optional<std::string>& mode, const FieldPath& path, FieldErrors& errors) {
    if (mode && !is_one_of(*mode, {"Block", "Filesystem"})) errors.not_supported(path, *mode, {"Block", "Filesystem"});
}

// --- Claims ---

void default_claim(PersistentVolumeClaim& object) {
    if (object.status.phase.empty()) object.status.phase = "Pending";
    if (!object.spec.volume_mode) object.spec.volume_mode = "Filesystem";
}

void prepare_claim(PersistentVolumeClaim& object, const WriteContext&) {
    object.status = {};
    object.status.phase = "Pending";
    auto& spec = object.spec;
    // As upstream without its alpha gate CrossNamespaceVolumeDataSource: nothing here asks the other namespace's owner.
    if (spec.data_source_ref && !spec.data_source_ref->namespace_.value_or("").empty()) spec.data_source_ref.reset();
    if (spec.data_source && !spec.data_source_ref) {
        spec.data_source_ref.emplace();
        spec.data_source_ref->api_group = spec.data_source->api_group;
        spec.data_source_ref->kind = spec.data_source->kind;
        spec.data_source_ref->name = spec.data_source->name;
    } else if (spec.data_source_ref && !spec.data_source && !spec.data_source_ref->namespace_) {
        spec.data_source.emplace();
        spec.data_source->api_group = spec.data_source_ref->api_group;
        spec.data_source->kind = spec.data_source_ref->kind;
        spec.data_source->name = spec.data_source_ref->name;
    }
}

/// What a claim is filled from; `Source` is either form of the reference.
template <class Source>
void validate_data_source(const schema::Box<Source>& source, const FieldPath& path, FieldErrors& errors) {
    if (!source) return;
    check_required(source->name, path / "name", errors);
    check_required(source->kind, path / "kind", errors);
    if (source->api_group.value_or("").empty() && source->kind != "PersistentVolumeClaim")
        errors.invalid(path, source->kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

void validate_data_sources(const api::core::v1::PersistentVolumeClaimSpec& spec, const FieldPath& path, FieldErrors& errors) {
    validate_data_source(spec.data_source, path / "dataSource", errors);
    validate_data_source(spec.data_source_ref, path / "dataSourceRef", errors);
    if (!spec.data_source || !spec.data_source_ref) return;
    const auto& one = *spec.data_source;
    const auto& whole = *spec.data_source_ref;
    if (whole.namespace_) {
        errors.invalid(path, one.name, "may not be specified when dataSourceRef.namespace is specified");
    } else if (one.name != whole.name || one.kind != whole.kind || one.api_group.value_or("") != whole.api_group.value_or("")) {
        errors.invalid(path, one.name, "must match dataSourceRef");
    }
}

void validate_claim(const PersistentVolumeClaim& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    validate_access_modes(spec.access_modes, path / "accessModes", "at least 1 access mode is required", errors);
    if (spec.selector) validate_label_selector(*spec.selector, path / "selector", errors);
    const FieldPath storage = (path / "resources").key("storage");
    const auto request = spec.resources.requests.find("storage");
    if (request == spec.resources.requests.end())
        errors.required(storage);
    else if (request->second.sign() <= 0)
        errors.invalid(storage, request->second.to_string(), "must be greater than zero");
    if (spec.storage_class_name && !spec.storage_class_name->empty())
        invalid_all(errors, path / "storageClassName", *spec.storage_class_name, names::check_dns1123_subdomain(*spec.storage_class_name));
    check_volume_mode(spec.volume_mode, path / "volumeMode", errors);
    validate_data_sources(spec, path, errors);
    if (spec.volume_attributes_class_name)
        check_object_name(*spec.volume_attributes_class_name, path / "volumeAttributesClassName", errors);
}

void validate_claim_update(const PersistentVolumeClaim& object, const PersistentVolumeClaim& old, FieldErrors& errors) {
    const FieldPath path = "spec";
    validate_claim(object, errors);
    auto allowed = object.spec;
    if (old.spec.volume_name.empty()) allowed.volume_name = old.spec.volume_name;
    if (!old.spec.storage_class_name) allowed.storage_class_name = old.spec.storage_class_name;
    if (old.status.phase == "Bound") {
        allowed.resources.requests = old.spec.resources.requests;
        allowed.volume_attributes_class_name = old.spec.volume_attributes_class_name;
    }
    if (!(allowed == old.spec)) {
        errors.forbidden(path, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims");
    }
    if (object.spec.volume_mode != old.spec.volume_mode)
        errors.invalid("volumeMode", object.spec.volume_mode.value_or(""), "field is immutable");
    const auto now = object.spec.resources.requests.find("storage");
    const auto before = old.spec.resources.requests.find("storage");
    const auto& attributes = object.spec.volume_attributes_class_name;
    if (old.status.current_volume_attributes_class_name && attributes != old.spec.volume_attributes_class_name &&
        attributes.value_or("").empty())
        errors.forbidden(path / "volumeAttributesClassName", std::string("update to ") + (attributes ? "empty string" : "nil") +
                                                                 " is forbidden when status.currentVolumeAttributesClassName is not nil");
    if (now == object.spec.resources.requests.end() || before == old.spec.resources.requests.end() || now->second >= before->second) return;
    const auto capacity = old.status.capacity.find("storage");
    if (capacity == old.status.capacity.end() || now->second <= capacity->second)
        errors.forbidden(path / "resources" / "requests" / "storage", "field can not be less than status.capacity");
}

/// Of Kubernetes' own resources a claim has only storage.
bool check_claim_resource(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const auto problems = names::check_qualified_name(name);
    invalid_all(errors, path, name, problems);
    if (!problems.empty()) return false;
    if (!is_native_resource(name) || name == "storage") return true;
    errors.not_supported(path, name, {"storage"});
    return false;
}

void validate_claim_status(const PersistentVolumeClaim& object, const PersistentVolumeClaim&, FieldErrors& errors) {
    const FieldPath path = "status";
    const auto check_amount = [&](const Quantity& amount, const FieldPath& at) {
        check(!amount.is_negative(), amount.to_string(), "must be a valid resource quantity", at, errors);
    };
    for (const auto& [name, amount] : object.status.capacity) check_amount(amount, (path / "capacity").key(name));
    for (const auto& [name, state] : object.status.allocated_resource_statuses) {
        const FieldPath at = path / "allocatedResourceStatuses";
        check_claim_resource(name, at, errors);
        if (!is_one_of(state, {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizePending", "NodeResizeInProgress",
                               "NodeResizeInfeasible"}))
            errors.not_supported(at, name,
                                 {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
                                  "NodeResizeInfeasible", "NodeResizePending"});
    }
    for (const auto& [name, amount] : object.status.allocated_resources)
        if (check_claim_resource(name, path / "allocatedResources", errors)) check_amount(amount, (path / "allocatedResources").key(name));
}

// --- Volumes ---

void default_volume(PersistentVolume& object) {
    if (object.status.phase.empty()) object.status.phase = "Pending";
    if (object.spec.persistent_volume_reclaim_policy.empty()) object.spec.persistent_volume_reclaim_policy = "Retain";
    if (!object.spec.volume_mode) object.spec.volume_mode = "Filesystem";
    if (object.spec.host_path && !object.spec.host_path->type) object.spec.host_path->type = "";
}

void prepare_volume(PersistentVolume& object, const WriteContext& context) {
    object.status = {};
    object.status.phase = "Pending";
    object.status.last_phase_transition_time = context.now;
}

void validate_csi_source(const api::core::v1::CSIPersistentVolumeSource& source, const FieldPath& path, FieldErrors& errors) {
    check_driver_name(source.driver, path / "driver", errors);
    check_required(source.volume_handle, path / "volumeHandle", errors);
    const auto check_secret = [&](const auto& secret, const char* field) {
        if (!secret) return;
        check_required_format(secret->name, names::check_dns1123_subdomain, path / field / "name", errors);
        check_required_format(secret->namespace_, names::check_dns1123_label, path / field / "namespace", errors);
    };
    check_secret(source.controller_publish_secret_ref, "controllerPublishSecretRef");
    check_secret(source.controller_expand_secret_ref, "controllerExpandSecretRef");
    check_secret(source.node_publish_secret_ref, "nodePublishSecretRef");
    check_secret(source.node_expand_secret_ref, "nodeExpandSecretRef");
}

/// Exactly one place where the bytes are.
void validate_source(const api::core::v1::PersistentVolumeSource& source, const FieldPath& path, FieldErrors& errors) {
    const schema::Value tree = schema::to_value(source);
    if (tree.as_object().empty()) return errors.required(path, "must specify a volume type");
    for (auto member = std::next(tree.as_object().begin()); member != tree.as_object().end(); ++member)
        errors.forbidden(path / member->key, "may not specify more than 1 volume type");
    if (source.csi) validate_csi_source(*source.csi, path / "csi", errors);
    if (source.host_path) check_required(source.host_path->path, path / "hostPath" / "path", errors);
    if (source.local) check_required(source.local->path, path / "local" / "path", errors);
    if (source.flex_volume) validate_flex_volume(source.flex_volume->driver, source.flex_volume->options, path / "flexVolume", errors);
    if (source.nfs) {
        check_required(source.nfs->server, path / "nfs" / "server", errors);
        if (check_required(source.nfs->path, path / "nfs" / "path", errors))
            check(source.nfs->path.starts_with('/'), source.nfs->path, "must be an absolute path", path / "nfs" / "path", errors);
    }
}

void validate_volume(const PersistentVolume& object, FieldErrors& errors) { validate_volume_spec(object.spec, "spec", errors); }

void validate_attributes_class(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.volume_attributes_class_name) return;
    const FieldPath at = path / "volumeAttributesClassName";
    if (spec.volume_attributes_class_name->empty())
        errors.required(at, "an empty string is disallowed");
    else
        check_object_name(*spec.volume_attributes_class_name, at, errors);
    if (!spec.csi) errors.required(path / "csi", "has to be specified when using volumeAttributesClassName");
}

}  // namespace

void validate_inline_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors) {
    constexpr const char* NotInline = "may not be specified in the context of inline volumes";
    if (spec.claim_ref) errors.forbidden(path / "claimRef", NotInline);
    if (!spec.capacity.empty()) errors.forbidden(path / "capacity", NotInline);
    if (!spec.csi) errors.required(path / "csi", "has to be specified in the context of inline volumes");
    validate_access_modes(spec.access_modes, path / "accessModes", "", errors);
    if (!spec.persistent_volume_reclaim_policy.empty() && spec.persistent_volume_reclaim_policy != "Retain")
        errors.forbidden(path / "persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes");
    if (spec.node_affinity) errors.forbidden(path / "nodeAffinity", NotInline);
    validate_source(spec, path, errors);
    if (!spec.storage_class_name.empty()) errors.forbidden(path / "storageClassName", NotInline);
    if (spec.volume_mode.value_or("Filesystem") != "Filesystem")
        errors.forbidden(path / "volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes");
}

void validate_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors) {
    validate_access_modes(spec.access_modes, path / "accessModes", "", errors);
    const auto storage = spec.capacity.find("storage");
    if (spec.capacity.empty())
        errors.required(path / "capacity");
    else if (storage == spec.capacity.end() || spec.capacity.size() > 1)
        errors.not_supported(path / "capacity", schema::to_value(spec)["capacity"], {"storage"});
    else if (storage->second.sign() <= 0)
        errors.invalid((path / "capacity").key("storage"), storage->second.to_string(), "must be greater than zero");
    if (!is_one_of(spec.persistent_volume_reclaim_policy, {"Delete", "Recycle", "Retain"}))
        errors.not_supported(path / "persistentVolumeReclaimPolicy", spec.persistent_volume_reclaim_policy,
                             {"Delete", "Recycle", "Retain"});
    if (spec.host_path && spec.host_path->path == "/" && spec.persistent_volume_reclaim_policy == "Recycle")
        errors.forbidden(path / "persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'");
    validate_source(spec, path, errors);
    if (spec.local && !spec.node_affinity) errors.required(path / "nodeAffinity", "Local volume requires node affinity");
    if (spec.node_affinity) {
        if (!spec.node_affinity->required)
            errors.required(path / "nodeAffinity" / "required", "must specify required node constraints");
        else
            validate_node_selector(*spec.node_affinity->required, path / "nodeAffinity" / "required", errors);
    }
    if (!spec.storage_class_name.empty())
        invalid_all(errors, path / "storageClassName", spec.storage_class_name, names::check_dns1123_subdomain(spec.storage_class_name));
    check_volume_mode(spec.volume_mode, path / "volumeMode", errors);
    validate_attributes_class(spec, path, errors);
}

namespace {

void validate_volume_update(const PersistentVolume& object, const PersistentVolume& old, FieldErrors& errors) {
    // What was stored under fewer rules can still be changed, and deleted.
    PersistentVolume looked_at = object;
    if (object.spec.csi && object.spec.csi == old.spec.csi) {
        looked_at.spec.csi.emplace().driver = "unchanged";
        looked_at.spec.csi->volume_handle = "unchanged";
    }
    if (object.spec.volume_attributes_class_name == old.spec.volume_attributes_class_name)
        looked_at.spec.volume_attributes_class_name.reset();
    validate_volume(looked_at, errors);
    api::core::v1::PersistentVolumeSource now = object.spec;
    const api::core::v1::PersistentVolumeSource& before = old.spec;
    // A driver may learn later to grow volumes.
    if (now.csi && before.csi && !before.csi->controller_expand_secret_ref) now.csi->controller_expand_secret_ref.reset();
    if (!(now == before)) errors.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation");
    if (object.spec.volume_mode != old.spec.volume_mode)
        errors.invalid("volumeMode", object.spec.volume_mode.value_or(""), "field is immutable");
    if (old.spec.node_affinity && !(object.spec.node_affinity == old.spec.node_affinity)) {
        errors.invalid("nodeAffinity", object.spec.node_affinity ? schema::to_value(*object.spec.node_affinity) : schema::Value(),
                       "field is immutable, except for updating from beta label to GA");
    }
    if (old.spec.volume_attributes_class_name && !object.spec.volume_attributes_class_name)
        errors.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

}  // namespace

Strategy persistent_volume_claim_strategy() {
    return strategy_for<PersistentVolumeClaim>({.set_defaults = default_claim,
                                                .prepare_for_create = prepare_claim,
                                                .validate = validate_claim,
                                                .validate_update = validate_claim_update,
                                                .validate_status_update = validate_claim_status});
}

Strategy persistent_volume_strategy() {
    return strategy_for<PersistentVolume>({.set_defaults = default_volume,
                                           .prepare_for_create = prepare_volume,
                                           .validate = validate_volume,
                                           .validate_update = validate_volume_update});
}

}  // namespace porthole::apiserver
