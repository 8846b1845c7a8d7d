#include <algorithm>
#include <set>

#include "api/storage_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::storage::v1;
using Parameters = std::map<std::string, std::string>;

constexpr std::size_t ParameterCount = 512;
constexpr std::size_t ParameterBytes = 256 * 1024;

void validate_provisioner(const std::string& provisioner, const FieldPath& path, FieldErrors& errors) {
    if (check_required(provisioner, path, errors))
        invalid_all(errors, path, to_lower(provisioner), names::check_qualified_name(to_lower(provisioner)));
}

void validate_parameters(const Parameters& parameters, FieldErrors& errors) {
    const FieldPath path = "parameters";
    if (parameters.size() > ParameterCount) errors.too_long(path, ParameterCount);
    std::size_t bytes = 0;
    for (const auto& [key, value] : parameters) {
        check(!key.empty(), key, "field can not be empty.", path, errors);
        bytes += key.size() + value.size();
    }
    if (bytes > ParameterBytes) errors.too_long(path, ParameterBytes);
}

// --- StorageClass ---

void set_defaults(StorageClass& object) {
    if (!object.reclaim_policy) object.reclaim_policy = "Delete";
    if (!object.volume_binding_mode) object.volume_binding_mode = VolumeBindingMode::Immediate;
}

void validate_topologies(const StorageClass& object, FieldErrors& errors) {
    std::set<std::string> terms;
    for (std::size_t t = 0; t < object.allowed_topologies.size(); ++t) {
        const auto& expressions = object.allowed_topologies[t].match_label_expressions;
        const FieldPath term = FieldPath("allowedTopologies").index(t) / "matchLabelExpressions";
        std::set<std::string> keys;
        for (std::size_t i = 0; i < expressions.size(); ++i) {
            const FieldPath path = term.index(i);
            if (expressions[i].values.empty()) errors.required(path / "values");
            std::set<std::string> values;
            for (std::size_t v = 0; v < expressions[i].values.size(); ++v)
                if (!values.insert(expressions[i].values[v]).second) errors.duplicate((path / "values").index(v), expressions[i].values[v]);
            invalid_all(errors, path / "key", expressions[i].key, names::check_qualified_name(expressions[i].key));
            if (!keys.insert(expressions[i].key).second) errors.duplicate(path / "key", expressions[i].key);
        }
    }
}

void validate(const StorageClass& object, FieldErrors& errors) {
    validate_provisioner(object.provisioner, "provisioner", errors);
    validate_parameters(object.parameters, errors);
    check_choice(object.reclaim_policy, {"Delete", "Retain"}, "reclaimPolicy", errors);
    if (!object.volume_binding_mode)
        errors.required("volumeBindingMode");
    else
        check_choice(*object.volume_binding_mode, {"Immediate", "WaitForFirstConsumer"}, "volumeBindingMode", errors);
    validate_topologies(object, errors);
}

void validate_update(const StorageClass& object, const StorageClass& old, FieldErrors& errors) {
    validate(object, errors);
    if (object.parameters != old.parameters) errors.forbidden("parameters", "updates to parameters are forbidden.");
    if (object.provisioner != old.provisioner) errors.forbidden("provisioner", "updates to provisioner are forbidden.");
    if (object.reclaim_policy != old.reclaim_policy) errors.forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.");
    check(object.volume_binding_mode == old.volume_binding_mode, object.volume_binding_mode.value_or(""), FieldIsImmutable,
          "volumeBindingMode", errors);
}

// --- VolumeAttributesClass ---

void validate_attributes(const VolumeAttributesClass& object, FieldErrors& errors) {
    validate_provisioner(object.driver_name, "driverName", errors);
    if (object.parameters.empty())
        errors.required("parameters", "must contain at least one key/value pair");
    else
        validate_parameters(object.parameters, errors);
}

void validate_attributes_update(const VolumeAttributesClass& object, const VolumeAttributesClass& old, FieldErrors& errors) {
    if (object.driver_name != old.driver_name) errors.forbidden("driverName", "updates to driverName are forbidden.");
    if (object.parameters != old.parameters) errors.forbidden("parameters", "updates to parameters are forbidden.");
}

}  // namespace

Strategy storage_class_strategy() {
    return strategy_for<StorageClass>({.set_defaults = set_defaults, .validate = validate, .validate_update = validate_update});
}

Strategy volume_attributes_class_strategy() {
    return strategy_for<VolumeAttributesClass>({.validate = validate_attributes, .validate_update = validate_attributes_update});
}

}  // namespace porthole::apiserver
