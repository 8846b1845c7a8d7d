#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/apiextensions_v1.h"
#include "apiserver/kinds/apiextensions/definition_status.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/webhook_client.h"
#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation_rules/definition_rules.h"
#include "base/strings.h"
#include "schema/convert.h"
#include "schema/structural/structural_rules.h"

namespace porthole::apiserver {
namespace {

using api::apiextensions::v1::CustomResourceColumnDefinition;
using api::apiextensions::v1::CustomResourceConversion;
using api::apiextensions::v1::CustomResourceDefinitionNames;
using api::apiextensions::v1::CustomResourceDefinitionSpec;
using api::apiextensions::v1::CustomResourceDefinitionVersion;
using api::apiextensions::v1::CustomResourceSubresourceScale;

constexpr std::size_t MostSelectableFields = 8;

std::string storage_version(const CustomResourceDefinitionSpec& spec) {
    const auto found = std::ranges::find_if(spec.versions, [](const auto& version) { return version.storage; });
    return found == spec.versions.end() ? "" : found->name;
}

// --- Defaults ---

void set_defaults(CustomResourceDefinition& definition) {
    CustomResourceDefinitionNames& names = definition.spec.names;
    if (names.singular.empty()) names.singular = to_lower(names.kind);
    if (names.list_kind.empty() && !names.kind.empty()) names.list_kind = names.kind + "List";
    if (!definition.spec.conversion) definition.spec.conversion.emplace().strategy = "None";
    const auto& webhook = definition.spec.conversion->webhook;
    if (webhook && webhook->client_config && webhook->client_config->service && !webhook->client_config->service->port)
        definition.spec.conversion->webhook->client_config->service->port = 443;
}

void remember_stored_version(CustomResourceDefinition& definition) {
    const std::string version = storage_version(definition.spec);
    auto& stored = definition.status.stored_versions;
    if (!version.empty() && std::ranges::find(stored, version) == stored.end()) stored.push_back(version);
}

void prepare_for_create(CustomResourceDefinition& definition, const WriteContext&) { remember_stored_version(definition); }
void prepare_for_update(CustomResourceDefinition& definition, const CustomResourceDefinition&, const WriteContext&) {
    remember_stored_version(definition);
}
void prepare_for_status_update(CustomResourceDefinition& definition, const CustomResourceDefinition& old, const WriteContext&) {
    auto managed = std::move(definition.metadata.managed_fields);
    definition.metadata = old.metadata;
    definition.metadata.managed_fields = std::move(managed);
}

// --- Names ---

void check_label(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    invalid_all(errors, path, text, names::check_dns1035_label(text));
}

void validate_names(const CustomResourceDefinitionNames& given, const FieldPath& path, FieldErrors& errors) {
    if (check_required(given.plural, path / "plural", errors)) check_label(given.plural, path / "plural", errors);
    if (check_required(given.singular, path / "singular", errors)) check_label(given.singular, path / "singular", errors);
    const auto check_kind = [&](const std::string& kind, const FieldPath& at) {
        if (!check_required(kind, at, errors)) return;
        for (const std::string& problem : names::check_dns1035_label(to_lower(kind)))
            errors.invalid(at, kind, "may have mixed case, but should otherwise match: " + problem);
    };
    check_kind(given.kind, path / "kind");
    check_kind(given.list_kind, path / "listKind");
    for (std::size_t i = 0; i < given.short_names.size(); ++i) check_label(given.short_names[i], (path / "shortNames").index(i), errors);
    for (std::size_t i = 0; i < given.categories.size(); ++i) check_label(given.categories[i], (path / "categories").index(i), errors);
    if (!given.kind.empty() && given.kind == given.list_kind)
        errors.invalid(path / "listKind", given.list_kind, "kind and listKind may not be the same");
}

// --- Versions ---

/// ".spec.replicas", with dots in names escaped or in brackets.
bool is_simple_path(std::string_view path) {
    if (!path.starts_with('.') || path.size() < 2 || path.ends_with('.') || path.contains("..")) return false;
    return std::ranges::all_of(path, [](char c) { return c > ' ' && c != '[' && c != ']' && c != '*' && c != '{' && c != '}'; });
}

void validate_scale(const CustomResourceSubresourceScale& scale, const FieldPath& path, FieldErrors& errors) {
    const auto check_path = [&](const std::string& text, const char* name, std::initializer_list<std::string_view> parents) {
        if (text.empty()) return errors.required(path / name);
        if (!is_simple_path(text)) return errors.invalid(path / name, text, "should be a simple json path without array notation");
        if (std::ranges::any_of(parents, [&](std::string_view parent) { return text.starts_with(parent); })) return;
        std::string wanted;
        for (const std::string_view parent : parents)
            wanted.append(wanted.empty() ? "" : " or ").append(parent.substr(0, parent.size() - 1));
        errors.invalid(path / name, text, "should be a json path under " + wanted);
    };
    check_path(scale.spec_replicas_path, "specReplicasPath", {".spec."});
    check_path(scale.status_replicas_path, "statusReplicasPath", {".status."});
    if (scale.label_selector_path && !scale.label_selector_path->empty())
        check_path(*scale.label_selector_path, "labelSelectorPath", {".spec.", ".status."});
}

void validate_column(const CustomResourceColumnDefinition& column, const FieldPath& path, FieldErrors& errors) {
    check_required(column.name, path / "name", errors);
    check_required_choice(column.type, {"boolean", "date", "integer", "number", "string"}, path / "type", errors);
    if (!column.format.empty())
        check_choice(column.format, {"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}, path / "format",
                     errors);
    if (column.json_path.empty()) return errors.required(path / "jsonPath");
    check(column.json_path.starts_with('.') || column.json_path.starts_with('['), column.json_path, "must start with a dot or a bracket",
          path / "jsonPath", errors);
}

/// The schema of what a simple path leads to; null where there is none.
const schema::Value* schema_at(const schema::Value& schema, std::string_view path) {
    const schema::Value* found = &schema;
    while (found && !path.empty()) {
        path.remove_prefix(1);
        const std::size_t end = std::min(path.find('.'), path.size());
        found = found->at_path({"properties", path.substr(0, end)});
        path.remove_prefix(end);
    }
    return found;
}

void validate_selectable_fields(const CustomResourceDefinitionVersion& version, const schema::Value& schema, const FieldPath& path,
                                FieldErrors& errors) {
    const auto& fields = version.selectable_fields;
    if (fields.size() > MostSelectableFields) errors.too_many(path, fields.size(), MostSelectableFields);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string& json_path = fields[i].json_path;
        const FieldPath at = path.index(i) / "jsonPath";
        if (json_path.empty()) {
            errors.required(at);
            continue;
        }
        const schema::Value* target = is_simple_path(json_path) ? schema_at(schema, json_path) : nullptr;
        const std::string_view type = target ? schema::at(*target, "type").string_or("") : "";
        if (json_path == ".metadata" || json_path.starts_with(".metadata.")) {
            errors.invalid(at, json_path, "must not point to fields in metadata");
        } else if (!target) {
            errors.invalid(at, json_path, "is an invalid path: does not refer to a valid field");
        } else if (type != "string" && type != "boolean" && type != "integer") {
            errors.invalid(
                at, json_path,
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.");
        }
        if (!seen.insert(json_path).second) errors.duplicate(at, json_path);
    }
}

void validate_deprecation(const CustomResourceDefinitionVersion& version, const FieldPath& path, FieldErrors& errors) {
    if (!version.deprecation_warning) return;
    const std::string& text = *version.deprecation_warning;
    const FieldPath at = path / "deprecationWarning";
    if (!version.deprecated) errors.invalid(at, text, "can only be set for deprecated versions");
    if (text.empty()) errors.invalid(at, text, "must not be an empty string");
    if (text.size() > 256) errors.too_long(at, 256);
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }))
        errors.invalid(at, text, "must only contain printable UTF-8 characters; non-printable character found");
}

// --- Rules in CEL ---

schema::Value schema_tree(const CustomResourceDefinitionVersion& version) {
    return version.schema && version.schema->open_api_v3_schema ? schema::to_value(*version.schema->open_api_v3_schema) : schema::Value();
}

/// What an update's rules are compared with.
struct StoredDefinition {
    explicit StoredDefinition(const CustomResourceDefinitionSpec& spec) {
        for (const auto& version : spec.versions) {
            expressions.add(schema_tree(version));
            versions.emplace(version.name, &version);
        }
    }
    bool has(const CustomResourceDefinitionVersion& version) const {
        const auto found = versions.find(version.name);
        return found != versions.end() && found->second->schema == version.schema;
    }
    std::map<std::string_view, const CustomResourceDefinitionVersion*> versions;
    StoredExpressions expressions;
};

/// `old`: nullptr for a new definition.
void validate_version(const CustomResourceDefinitionVersion& version, const StoredDefinition* old, const FieldPath& path,
                      schema::SchemaPatterns& patterns, FieldErrors& errors) {
    check_label(version.name, path / "name", errors);
    validate_deprecation(version, path, errors);
    const bool has_schema = version.schema && version.schema->open_api_v3_schema;
    schema::Value schema;
    if (!has_schema) {
        errors.required(path / "schema" / "openAPIV3Schema", "schemas are required");
    } else {
        const FieldPath at = path / "schema" / "openAPIV3Schema";
        const std::size_t before = errors.size();
        schema = schema_tree(version);
        schema::validate_structural_schema(schema, at, patterns, errors);
        const RuleCheck check{.stored = old ? &old->expressions : nullptr,
                              .is_unchanged = old && old->has(version),
                              .is_structural = errors.size() == before};
        check_rules(schema, at, check, errors);
    }
    if (version.subresources && version.subresources->scale)
        validate_scale(*version.subresources->scale, path / "subresources" / "scale", errors);
    for (std::size_t i = 0; i < version.additional_printer_columns.size(); ++i)
        validate_column(version.additional_printer_columns[i], (path / "additionalPrinterColumns").index(i), errors);
    if (has_schema) validate_selectable_fields(version, schema, path / "selectableFields", errors);
}

void validate_versions(const CustomResourceDefinitionSpec& spec, const StoredDefinition* old, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    schema::SchemaPatterns patterns;
    std::size_t stored = 0;
    bool unique = true;
    for (std::size_t i = 0; i < spec.versions.size(); ++i) {
        validate_version(spec.versions[i], old, path.index(i), patterns, errors);
        unique = seen.insert(spec.versions[i].name).second && unique;
        stored += spec.versions[i].storage ? 1 : 0;
    }
    schema::Value names = schema::Value::array();
    for (const auto& version : spec.versions) names.as_array().emplace_back(version.name);
    if (!unique) errors.invalid(path, names, "must contain unique version names");
    if (stored != 1) errors.invalid(path, names, "must have exactly one version marked as storage version");
}

// --- Conversion ---

void validate_conversion(const CustomResourceDefinitionSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.conversion) return errors.required(path);
    const CustomResourceConversion& conversion = *spec.conversion;
    check_required_choice(conversion.strategy, {"None", "Webhook"}, path / "strategy", errors);
    const FieldPath webhook = path / "webhook";
    if (conversion.strategy == "None" && conversion.webhook)
        errors.forbidden(webhook, "should not be set when strategy is not set to Webhook");
    if (conversion.strategy != "Webhook") return;
    if (spec.preserve_unknown_fields)
        errors.invalid(path / "strategy", conversion.strategy, "must be None if spec.preserveUnknownFields is true");
    if (!conversion.webhook || !conversion.webhook->client_config)
        return errors.required(webhook / "clientConfig", "required when strategy is set to Webhook");
    validate_webhook_client(*conversion.webhook->client_config, webhook / "clientConfig", errors);
    const auto& versions = conversion.webhook->conversion_review_versions;
    const FieldPath at = webhook / "conversionReviewVersions";
    if (versions.empty()) return errors.required(at);
    std::set<std::string> seen;
    bool known = false;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        check(seen.insert(versions[i]).second, versions[i], "duplicate version", at.index(i), errors);
        check_label(versions[i], at.index(i), errors);
        known = known || versions[i] == "v1" || versions[i] == "v1beta1";
    }
    check(known, list_of(versions), "must include at least one of v1, v1beta1", at, errors);
}

// --- The whole ---

/// `old`: nullptr for a new definition; an update is only refused for what it changes.
void validate_approval(const CustomResourceDefinition& definition, const CustomResourceDefinition* old, FieldErrors& errors) {
    const auto approval = api_approval(definition), before = old ? api_approval(*old) : std::nullopt;
    if (!approval || (before && before->state == approval->state)) return;
    const FieldPath path = (FieldPath("metadata") / "annotations").key(ApprovalAnnotation);
    if (approval->state == ApiApproval::State::Missing) errors.required(path, approval->message);
    if (approval->state == ApiApproval::State::Invalid)
        errors.invalid(path, definition.metadata.annotations.at(std::string(ApprovalAnnotation)), approval->message);
}

void validate_spec(const CustomResourceDefinition& definition, const StoredDefinition* old, FieldErrors& errors) {
    const FieldPath path = "spec";
    const CustomResourceDefinitionSpec& spec = definition.spec;
    if (check_required(spec.group, path / "group", errors)) {
        invalid_all(errors, path / "group", spec.group, names::check_dns1123_subdomain(spec.group));
        check(spec.group.contains('.'), spec.group, "should be a domain with at least one dot", path / "group", errors);
    }
    check_required_choice(spec.scope, {"Cluster", "Namespaced"}, path / "scope", errors);
    validate_versions(spec, old, path / "versions", errors);
    validate_names(spec.names, path / "names", errors);
    validate_conversion(spec, path / "conversion", errors);
}

void validate_stored_versions(const CustomResourceDefinition& definition, FieldErrors& errors) {
    const FieldPath path = FieldPath("status") / "storedVersions";
    const auto& stored = definition.status.stored_versions;
    if (stored.empty()) return errors.invalid(path, list_of(stored), "must have at least one stored version");
    std::set<std::string_view> versions;
    for (const auto& version : definition.spec.versions) versions.insert(version.name);
    for (std::size_t i = 0; i < stored.size(); ++i) {
        check(versions.contains(stored[i]), stored[i],
              "missing from spec.versions; " + stored[i] +
                  " was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains "
                  "persisted in " +
                  stored[i] + " and removes " + stored[i] + " from status.storedVersions",
              path.index(i), errors);
    }
    const std::string storage = storage_version(definition.spec);
    check(storage.empty() || std::ranges::find(stored, storage) != stored.end(), list_of(stored),
          "must have the storage version " + storage, path, errors);
}

void validate(const CustomResourceDefinition& definition, FieldErrors& errors) {
    const std::string name = definition.spec.names.plural + "." + definition.spec.group;
    if (definition.metadata.name != name)
        errors.invalid("metadata.name", definition.metadata.name, "must be spec.names.plural+\".\"+spec.group");
    validate_spec(definition, nullptr, errors);
    if (definition.spec.preserve_unknown_fields) {
        errors.invalid("spec.preserveUnknownFields", true,
                       "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
    }
    validate_approval(definition, nullptr, errors);
}

/// Whether an error is among them that the stored definition does not have.
bool has_new(const FieldErrors& errors, const FieldErrors& before) {
    std::set<std::tuple<std::string_view, std::string_view, std::string_view>> known;
    for (const Cause& cause : before.causes()) known.emplace(cause.type, cause.field, cause.message);
    return errors.size() > before.size() || std::ranges::any_of(errors.causes(), [&](const Cause& cause) {
               return !known.contains({cause.type, cause.field, cause.message});
           });
}

void validate_update(const CustomResourceDefinition& definition, const CustomResourceDefinition& old, FieldErrors& errors) {
    if (definition.spec != old.spec) {
        // What was let in once stays editable.
        const StoredDefinition stored(old.spec);
        FieldErrors found, before;
        validate_spec(definition, &stored, found);
        if (!found.empty()) validate_spec(old, &stored, before);
        if (has_new(found, before)) errors.append(std::move(found));
    }
    validate_stored_versions(definition, errors);
    validate_approval(definition, &old, errors);
    check_immutable(definition.spec.group, old.spec.group, "spec.group", errors);
    check_immutable(definition.spec.names.plural, old.spec.names.plural, "spec.names.plural", errors);
    if (!is_established(old)) return;
    check_immutable(definition.spec.scope, old.spec.scope, "spec.scope", errors);
    check_immutable(definition.spec.names.kind, old.spec.names.kind, "spec.names.kind", errors);
}

void validate_status_update(const CustomResourceDefinition& definition, const CustomResourceDefinition&, FieldErrors& errors) {
    validate_stored_versions(definition, errors);
}

// --- Deletion ---

/// Instances go first: the definition is kept until they are gone (custom_resources/custom_resources.h).
bool delays_removal(const ApiObject& object) {
    const auto& conditions = object.view<CustomResourceDefinition>().status.conditions;
    return std::ranges::none_of(conditions, [](const auto& condition) { return condition.type == "Terminating"; });
}

void begin_deletion(ApiObject& object) {
    CustomResourceDefinition& definition = object.edit<CustomResourceDefinition>();
    auto& finalizers = definition.metadata.finalizers;
    if (std::ranges::find(finalizers, CleanupFinalizer) == finalizers.end()) finalizers.emplace_back(CleanupFinalizer);
    set_terminating(definition.status, true, "InstanceDeletionPending",
                    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                    definition.metadata.deletion_timestamp.value_or(Timestamp()));
}

}  // namespace

Strategy custom_resource_definition_strategy() {
    Strategy strategy = strategy_for<CustomResourceDefinition>({.set_defaults = set_defaults,
                                                                .prepare_for_create = prepare_for_create,
                                                                .prepare_for_update = prepare_for_update,
                                                                .prepare_for_status_update = prepare_for_status_update,
                                                                .validate = validate,
                                                                .validate_update = validate_update,
                                                                .validate_status_update = validate_status_update});
    strategy.generation = Generation::OnSpecChange;
    strategy.unconditional_update = false;
    strategy.delays_removal = delays_removal;
    strategy.begin_deletion = begin_deletion;
    return strategy;
}

}  // namespace porthole::apiserver
