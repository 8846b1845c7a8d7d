#include "apiserver/strategy/object_meta.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::meta::v1::OwnerReference;
using schema::Value;

constexpr std::size_t AnnotationBytes = 256 * 1024;
constexpr std::string_view FieldIsImmutable = "field is immutable";
const FieldPath Metadata = "metadata";

void validate_owners(const std::vector<OwnerReference>& owners, FieldErrors& errors) {
    const FieldPath path = Metadata / "ownerReferences";
    const OwnerReference* controller = nullptr;
    for (const OwnerReference& owner : owners) {
        if (owner.api_version.empty() || owner.api_version.ends_with('/'))
            errors.invalid(path / "apiVersion", owner.api_version, "version must not be empty");
        if (owner.kind.empty()) errors.invalid(path / "kind", owner.kind, "must not be empty");
        if (owner.name.empty()) errors.invalid(path / "name", owner.name, "must not be empty");
        if (owner.uid.empty()) errors.invalid(path / "uid", owner.uid, "must not be empty");
        if (owner.api_version == "v1" && owner.kind == "Event")
            errors.invalid(path, schema::to_value(owner), "/v1, Kind=Event is disallowed from being an owner");
        if (!owner.controller.value_or(false)) continue;
        if (controller) {
            errors.invalid(path, schema::to_value(owner),
                           "Only one reference can have Controller set to true. Found \"true\" in references for " + controller->kind +
                               "/" + controller->name + " and " + owner.kind + "/" + owner.name);
        }
        controller = &owner;
    }
}

bool is_standard_finalizer(std::string_view name) { return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion"; }

/// Definitions of custom resources, and these: upstream lets their finalizers have any name, as it does itself.
bool has_plain_finalizers(const schema::Kind& kind) { return !kind.type->create || kind.group == "apiextensions.k8s.io"; }

void validate_finalizers(const std::vector<std::string>& finalizers, const schema::Kind& kind, FieldErrors& errors) {
    const FieldPath path = Metadata / "finalizers";
    bool orphan = false, foreground = false;
    for (const std::string& finalizer : finalizers) {
        invalid_all(errors, path, finalizer, names::check_qualified_name(finalizer));
        if (!finalizer.contains('/') && !is_standard_finalizer(finalizer) && !has_plain_finalizers(kind))
            errors.invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified");
        orphan = orphan || finalizer == "orphan";
        foreground = foreground || finalizer == "foregroundDeletion";
    }
    if (orphan && foreground) {
        errors.invalid(path, schema::Value("orphan"), "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

void validate_managed_fields(const ObjectMeta& metadata, FieldErrors& errors) {
    for (std::size_t i = 0; i < metadata.managed_fields.size(); ++i) {
        const auto& entry = metadata.managed_fields[i];
        const FieldPath path = (Metadata / "managedFields").index(i);
        if (entry.operation != "Apply" && entry.operation != "Update")
            errors.invalid(path / "operation", entry.operation, "must be `Apply` or `Update`");
        if (!entry.fields_type.empty() && entry.fields_type != "FieldsV1")
            errors.invalid(path / "fieldsType", entry.fields_type, "must be `FieldsV1`");
        if (entry.manager.size() > 128) errors.too_long(path / "manager", 128);
        if (entry.subresource.size() > 256) errors.too_long(path / "subresource", 256);
    }
}

void validate_common(const ObjectMeta& metadata, const schema::Kind& kind, FieldErrors& errors) {
    if (metadata.generation < 0) errors.invalid(Metadata / "generation", metadata.generation, "must be greater than or equal to 0");
    validate_labels(metadata.labels, Metadata / "labels", errors);
    validate_annotations(metadata.annotations, Metadata / "annotations", errors);
    validate_owners(metadata.owner_references, errors);
    validate_finalizers(metadata.finalizers, kind, errors);
    validate_managed_fields(metadata, errors);
}

std::string go_strings(const std::vector<std::string>& texts) {
    std::string list = "[]string{";
    for (std::size_t i = 0; i < texts.size(); ++i) list += (i > 0 ? ", \"" : "\"") + texts[i] + '"';
    return list + '}';
}

}  // namespace

void validate_labels(const std::map<std::string, std::string>& labels, const FieldPath& path, FieldErrors& errors) {
    for (const auto& [key, value] : labels) {
        invalid_all(errors, path, key, names::check_qualified_name(key));
        invalid_all(errors, path, value, names::check_label_value(value));
    }
}

void validate_annotations(const std::map<std::string, std::string>& annotations, const FieldPath& path, FieldErrors& errors) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : annotations) {
        invalid_all(errors, path, key, names::check_qualified_name(to_lower(key)));
        bytes += key.size() + value.size();
    }
    if (bytes > AnnotationBytes) errors.too_long(path, AnnotationBytes);
}

void validate_label_selector(const api::meta::v1::LabelSelector& selector, const FieldPath& path, FieldErrors& errors) {
    validate_labels(selector.match_labels, path / "matchLabels", errors);
    for (std::size_t i = 0; i < selector.match_expressions.size(); ++i) {
        const auto& expression = selector.match_expressions[i];
        const FieldPath at = (path / "matchExpressions").index(i);
        const std::string& operation = expression.operator_;
        if (operation == "In" || operation == "NotIn") {
            if (expression.values.empty()) errors.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'");
        } else if (operation == "Exists" || operation == "DoesNotExist") {
            if (!expression.values.empty())
                errors.forbidden(at / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else {
            errors.invalid(at / "operator", operation, "not a valid selector operator");
        }
        invalid_all(errors, at / "key", expression.key, names::check_qualified_name(expression.key));
        for (std::size_t v = 0; v < expression.values.size(); ++v)
            invalid_all(errors, (at / "values").index(v), expression.values[v], names::check_label_value(expression.values[v]));
    }
}

void validate_metadata(const ObjectMeta& metadata, const schema::Kind& kind, const Strategy& strategy, FieldErrors& errors) {
    if (!metadata.generate_name.empty())
        invalid_all(errors, Metadata / "generateName", metadata.generate_name,
                    names::check_name(strategy.name_rule, metadata.generate_name, true));
    if (metadata.name.empty()) {
        errors.required(Metadata / "name", "name or generateName is required");
    } else {
        invalid_all(errors, Metadata / "name", metadata.name, names::check_name(strategy.name_rule, metadata.name, false));
        // Whatever a kind allows, a name must stand in a path.
        if (strategy.name_rule != names::NameRule::PathSegment && metadata.name.contains('%'))
            errors.invalid(Metadata / "name", metadata.name, "may not contain '%'");
    }
    if (kind.namespaced()) {
        if (metadata.namespace_.empty())
            errors.required(Metadata / "namespace");
        else
            invalid_all(errors, Metadata / "namespace", metadata.namespace_, names::check_dns1123_label(metadata.namespace_));
    } else if (!metadata.namespace_.empty()) {
        errors.forbidden(Metadata / "namespace", "not allowed on this type");
    }
    validate_common(metadata, kind, errors);
}

void validate_metadata_update(const ObjectMeta& metadata, const ObjectMeta& old, const schema::Kind& kind, FieldErrors& errors) {
    check_immutable(metadata.name, old.name, Metadata / "name", errors);
    check_immutable(metadata.namespace_, old.namespace_, Metadata / "namespace", errors);
    check_immutable(metadata.uid, old.uid, Metadata / "uid", errors);
    if (metadata.generation < old.generation) errors.invalid(Metadata / "generation", metadata.generation, "must not be decremented");
    if (old.deletion_timestamp) {
        const std::set<std::string_view> present(old.finalizers.begin(), old.finalizers.end());
        std::vector<std::string> added;
        for (const std::string& finalizer : metadata.finalizers)
            if (!present.contains(finalizer)) added.push_back(finalizer);
        std::ranges::sort(added);
        if (!added.empty()) {
            errors.forbidden(Metadata / "finalizers",
                             "no new finalizers can be added if the object is being deleted, found new finalizers " + go_strings(added));
        }
    }
    validate_common(metadata, kind, errors);
}

void check_immutable(const Value& now, const Value& before, const FieldPath& path, FieldErrors& errors) {
    if (!(now == before)) errors.invalid(path, now, FieldIsImmutable);
}

}  // namespace porthole::apiserver
