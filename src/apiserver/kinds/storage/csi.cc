#include <algorithm>
#include <map>
#include <set>

#include "api/storage_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/volume_spec.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::storage::v1;

constexpr std::size_t NodeIdLimit = 256;
constexpr std::size_t MetadataLimit = 256 * 1024;
constexpr std::size_t ErrorMessageLimit = 1024;
constexpr std::int64_t ShortestDriverToken = 600, LongestToken = std::int64_t{1} << 32;
constexpr std::int64_t ShortestUpdatePeriod = 10;

// --- CSIDriver ---

void default_driver(CSIDriver& object) {
    CSIDriverSpec& spec = object.spec;
    if (!spec.attach_required) spec.attach_required = true;
    for (auto* flag : {&spec.pod_info_on_mount, &spec.storage_capacity, &spec.requires_republish, &spec.se_linux_mount})
        if (!*flag) *flag = false;
    if (!spec.fs_group_policy) spec.fs_group_policy = "ReadWriteOnceWithFSType";
    if (spec.volume_lifecycle_modes.empty()) spec.volume_lifecycle_modes = {"Persistent"};
}

void validate_token_requests(const std::vector<TokenRequest>& requests, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> audiences;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const FieldPath at = path.index(i);
        if (!audiences.insert(requests[i].audience).second) errors.duplicate(at / "audience", requests[i].audience);
        if (!requests[i].expiration_seconds) continue;
        const std::int64_t seconds = *requests[i].expiration_seconds;
        check(seconds >= ShortestDriverToken, seconds, "may not specify a duration less than 10 minutes", at / "expirationSeconds", errors);
        check(seconds <= LongestToken, seconds, "may not specify a duration larger than 2^32 seconds", at / "expirationSeconds", errors);
    }
}

void validate_driver(const CSIDriver& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const CSIDriverSpec& spec = object.spec;
    check_driver_name(object.metadata.name, "metadata.name", errors);
    if (!spec.attach_required) errors.required(path / "attachedRequired");
    if (!spec.pod_info_on_mount) errors.required(path / "podInfoOnMount");
    if (!spec.storage_capacity) errors.required(path / "storageCapacity");
    check_choice(spec.fs_group_policy, {"File", "None", "ReadWriteOnceWithFSType"}, path / "fsGroupPolicy", errors);
    validate_token_requests(spec.token_requests, path / "tokenRequests", errors);
    for (const std::string& mode : spec.volume_lifecycle_modes)
        check_choice(mode, {"Ephemeral", "Persistent"}, path / "volumeLifecycleModes", errors);
    if (const auto& period = spec.node_allocatable_update_period_seconds)
        check(*period >= ShortestUpdatePeriod, *period, "must be greater than or equal to 10 seconds",
              path / "nodeAllocatableUpdatePeriodSeconds", errors);
    if (spec.service_account_token_in_secrets && spec.token_requests.empty())
        errors.invalid(path / "serviceAccountTokenInSecrets", *spec.service_account_token_in_secrets,
                       "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

/// A field whose feature gate, VolumeLimitScaling, is off.
void prepare_driver(CSIDriver& object, const WriteContext&) { object.spec.prevent_pod_scheduling_if_missing.reset(); }

void prepare_driver_update(CSIDriver& object, const CSIDriver& old, const WriteContext&) {
    if (!old.spec.prevent_pod_scheduling_if_missing) object.spec.prevent_pod_scheduling_if_missing.reset();
}

void validate_driver_update(const CSIDriver& object, const CSIDriver& old, FieldErrors& errors) {
    validate_driver(object, errors);
    check(object.spec.attach_required == old.spec.attach_required, object.spec.attach_required.value_or(false), FieldIsImmutable,
          "spec.attachedRequired", errors);
    if (object.spec.volume_lifecycle_modes != old.spec.volume_lifecycle_modes)
        errors.invalid("spec.volumeLifecycleModes", schema::at(schema::to_value(object.spec), "volumeLifecycleModes"), FieldIsImmutable);
}

// --- CSINode ---

void validate_node_driver(const CSINodeDriver& driver, const FieldPath& path, FieldErrors& errors) {
    check_driver_name(driver.name, path / "name", errors);
    if (check_required(driver.node_id, path / "nodeID", errors))
        check(driver.node_id.size() <= NodeIdLimit, driver.node_id, "must be 256 characters or less", path / "nodeID", errors);
    if (driver.allocatable) check_not_negative(driver.allocatable->count, path / "allocatable" / "count", errors);
    std::set<std::string> keys;
    for (const std::string& key : driver.topology_keys) {
        if (!check_required(key, path, errors)) continue;
        if (!keys.insert(key).second) errors.duplicate(path, key);
        invalid_all(errors, path, key, names::check_qualified_name(key));
    }
}

void validate_node(const CSINode& object, FieldErrors& errors) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < object.spec.drivers.size(); ++i) {
        const FieldPath path = FieldPath("spec.drivers").index(i);
        validate_node_driver(object.spec.drivers[i], path, errors);
        if (!names.insert(object.spec.drivers[i].name).second) errors.duplicate(path / "name", object.spec.drivers[i].name);
    }
}

/// A driver may come and go, but while it stays only its capacity changes.
void validate_node_update(const CSINode& object, const CSINode& old, FieldErrors& errors) {
    validate_node(object, errors);
    std::map<std::string_view, const CSINodeDriver*> known;
    for (const CSINodeDriver& before : old.spec.drivers) known.emplace(before.name, &before);
    const bool kept = std::ranges::all_of(object.spec.drivers, [&](CSINodeDriver driver) {
        const auto before = known.find(driver.name);
        if (before == known.end()) return true;
        driver.allocatable = before->second->allocatable;
        return driver == *before->second;
    });
    if (!kept) errors.invalid("spec.drivers", schema::at(schema::to_value(object.spec), "drivers"), FieldIsImmutable);
}

// --- CSIStorageCapacity ---

void validate_capacity(const CSIStorageCapacity& object, FieldErrors& errors) {
    check_required_format(object.storage_class_name, names::check_dns1123_subdomain, "storageClassName", errors);
    if (object.node_topology) validate_label_selector(*object.node_topology, "nodeTopology", errors);
    const auto check_size = [&](const std::optional<Quantity>& size, const char* field) {
        if (size) check(!size->is_negative(), size->to_string(), NotNegative, field, errors);
    };
    check_size(object.capacity, "capacity");
    check_size(object.maximum_volume_size, "maximumVolumeSize");
}

void validate_capacity_update(const CSIStorageCapacity& object, const CSIStorageCapacity& old, FieldErrors& errors) {
    validate_capacity(object, errors);
    check(object.storage_class_name == old.storage_class_name, object.storage_class_name, FieldIsImmutable, "storageClassName", errors);
    if (object.node_topology != old.node_topology)
        errors.invalid("nodeTopology", object.node_topology ? schema::to_value(*object.node_topology) : schema::Value(), FieldIsImmutable);
}

// --- VolumeAttachment ---

void validate_attachment_status(const VolumeAttachmentStatus& status, FieldErrors& errors) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : status.attachment_metadata) bytes += key.size() + value.size();
    if (bytes > MetadataLimit) errors.too_long("status.attachmentMetadata", MetadataLimit);
    const auto check_error = [&](const schema::Box<VolumeError>& error, const FieldPath& path) {
        if (!error) return;
        if (error->message.size() > ErrorMessageLimit) errors.too_long(path / "message", ErrorMessageLimit);
        check_not_negative(error->error_code, path / "errorCode", errors);
    };
    check_error(status.attach_error, "status.attachError");
    check_error(status.detach_error, "status.detachError");
}

void validate_attachment(const VolumeAttachment& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    check_driver_name(object.spec.attacher, path / "attacher", errors);
    const VolumeAttachmentSource& source = object.spec.source;
    if (!source.persistent_volume_name && !source.inline_volume_spec) {
        errors.required(path / "source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    } else if (source.persistent_volume_name && source.inline_volume_spec) {
        errors.forbidden(path / "source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    } else if (source.persistent_volume_name) {
        if (source.persistent_volume_name->empty())
            errors.required(path / "source" / "persistentVolumeName", "must specify non empty persistentVolumeName");
        check_object_name(*source.persistent_volume_name, path / "source" / "persistentVolumeName", errors);
    } else {
        validate_inline_volume_spec(*source.inline_volume_spec, path / "source" / "inlineVolumeSpec", errors);
    }
    invalid_all(errors, path / "nodeName", object.spec.node_name, names::check_dns1123_subdomain(object.spec.node_name));
    validate_attachment_status(object.status, errors);
}

void validate_attachment_update(const VolumeAttachment& object, const VolumeAttachment& old, FieldErrors& errors) {
    if (object.spec != old.spec) errors.invalid("spec", schema::to_value(object.spec), FieldIsImmutable);
    validate_attachment_status(object.status, errors);
}

/// The attacher writes status, with metadata as it is stored.
void prepare_attachment_status(VolumeAttachment& object, const VolumeAttachment& old, const WriteContext&) {
    auto fields = std::move(object.metadata.managed_fields);
    object.metadata = old.metadata;
    object.metadata.managed_fields = std::move(fields);
}

}  // namespace

Strategy csi_driver_strategy() {
    Strategy strategy = strategy_for<CSIDriver>({.set_defaults = default_driver,
                                                 .prepare_for_create = prepare_driver,
                                                 .prepare_for_update = prepare_driver_update,
                                                 .validate = validate_driver,
                                                 .validate_update = validate_driver_update});
    strategy.generation = Generation::OnSpecChange;
    strategy.unconditional_update = false;
    return strategy;
}

Strategy csi_node_strategy() {
    Strategy strategy = strategy_for<CSINode>({.validate = validate_node, .validate_update = validate_node_update});
    strategy.unconditional_update = false;
    return strategy;
}

Strategy csi_storage_capacity_strategy() {
    Strategy strategy = strategy_for<CSIStorageCapacity>({.validate = validate_capacity, .validate_update = validate_capacity_update});
    strategy.unconditional_update = false;
    return strategy;
}

Strategy volume_attachment_strategy() {
    Strategy strategy = strategy_for<VolumeAttachment>({.prepare_for_status_update = prepare_attachment_status,
                                                        .validate = validate_attachment,
                                                        .validate_update = validate_attachment_update,
                                                        .validate_status_update = validate_attachment_update});
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace porthole::apiserver
