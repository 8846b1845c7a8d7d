#include "apiserver/custom_resources/custom_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/meta_v1.h"
#include "apiserver/request/status.h"
#include "apiserver/storage/keys.h"
#include "apiserver/validation_rules/validation_rules.h"
#include "base/base64.h"
#include "net/tls/x509.h"
#include "objects/conditions.h"
#include "schema/convert.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/structural/schema_validator.h"
#include "schema/structural/structural_rules.h"
#include "schema/version_order.h"

namespace porthole::apiserver {
namespace {

using namespace api::apiextensions::v1;
using schema::Value;

constexpr std::string_view Verbs[] = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
constexpr std::string_view SubresourceVerbs[] = {"get", "patch", "update"};

/// What a deprecated version's clients are told, in upstream's words.
std::string deprecation_of(const CustomResourceDefinitionSpec& spec, const CustomResourceDefinitionVersion& version) {
    if (!version.deprecated) return "";
    if (version.deprecation_warning) return *version.deprecation_warning;
    std::string text = fmt::format("{}/{} {} is deprecated", spec.group, version.name, spec.names.kind);
    const CustomResourceDefinitionVersion* better = nullptr;
    for (const auto& other : spec.versions) {
        const bool candidate = other.served && !other.deprecated && schema::is_preferred_version(other.name, version.name);
        if (candidate && (!better || schema::is_preferred_version(other.name, better->name))) better = &other;
    }
    if (better) text += fmt::format("; use {}/{} {}", spec.group, better->name, spec.names.kind);
    return text;
}

/// What discovery shows of the version that is stored, as upstream makes it.
std::string storage_hash(const schema::Kind& kind) {
    return encode_base64(net::sha256(fmt::format("{}/{}/{}", kind.group, kind.version, kind.kind)).substr(0, 8));
}

Value schema_tree(const CustomResourceDefinitionVersion& version) {
    if (!version.schema || !version.schema->open_api_v3_schema) return Value::object({{"type", "object"}});
    return schema::to_value(*version.schema->open_api_v3_schema);
}

std::shared_ptr<const SelectableFields> selectable_fields(const CustomResourceDefinitionVersion& version) {
    auto texts = std::make_shared<std::vector<std::string>>();
    for (const auto& field : version.selectable_fields)
        if (field.json_path.starts_with('.')) texts->push_back(field.json_path.substr(1));
    auto selectable = std::make_shared<SelectableFields>();
    for (const std::string& text : *texts) selectable->fields.push_back({.name = text});
    selectable->owner = std::move(texts);
    return selectable;
}

}  // namespace

/// One version, and everything that its resource points to.
struct CustomKind::Version {
    std::string schema_json;  ///< as text: OpenAPI asks for it seldom, and a tree is many times as large
    schema::OwnedTypes types;
    schema::Kind* kind = nullptr;
    std::optional<schema::SchemaValidator> validator;
    bool has_rules = false;
    mutable std::unique_ptr<const ValidationRules> rules;  ///< made when the first object is written
    std::string deprecation;
    Strategy strategy;
    Resource resource;

    Result<void> describe(const CustomResourceDefinition& definition, const CustomResourceDefinitionVersion& version);
    void add_columns(const CustomResourceDefinitionVersion& version);
    void add_subresources(const CustomResourceDefinitionVersion& version);
    void set_strategy(bool has_status);
    /// The rules in CEL. `old`: nullptr for a creation.
    void validate_rules(const ApiObject& object, const ApiObject* old, FieldErrors& errors) const;
    void refuse_creation();
    /// What was stored in whatever version and by whatever schema, as this version has it.
    Value read(Value tree) const;
};

Result<void> CustomKind::Version::describe(const CustomResourceDefinition& definition, const CustomResourceDefinitionVersion& version) {
    const CustomResourceDefinitionNames& names = definition.status.accepted_names;
    const Value schema = schema_tree(version);
    schema_json = schema::to_json(schema);
    TRY(validator, schema::SchemaValidator::compile(schema));
    has_rules = schema::has_validation_rules(schema);
    kind = &types.add_kind();
    kind->group = types.keep(definition.spec.group);
    kind->version = types.keep(version.name);
    kind->kind = types.keep(names.kind);
    kind->list_kind = types.keep(names.list_kind);
    kind->plural = types.keep(names.plural);
    kind->singular = types.keep(names.singular);
    kind->short_names = types.keep_list(names.short_names);
    kind->categories = types.keep_list(names.categories);
    kind->verbs = Verbs;
    if (definition.spec.scope == "Namespaced") kind->flags |= schema::Kind::Namespaced;
    if (version.served) kind->flags |= schema::Kind::Resource;
    const bool has_status = version.subresources && version.subresources->status;
    if (has_status) kind->flags |= schema::Kind::HasStatus;
    TRY(kind->type, types.add_resource(kind->kind, schema, api::meta::v1::ObjectMeta::schema_type()));
    add_columns(version);
    add_subresources(version);
    deprecation = deprecation_of(definition.spec, version);
    set_strategy(has_status);
    if (is_leaving(definition)) refuse_creation();
    return {};
}

void CustomKind::Version::add_columns(const CustomResourceDefinitionVersion& version) {
    std::vector<schema::Column> columns;
    columns.push_back({.name = "Name", .type = "string", .format = "name", .cell = ".metadata.name"});
    for (const CustomResourceColumnDefinition& given : version.additional_printer_columns) {
        columns.push_back({.name = types.keep(given.name),
                           .type = types.keep(given.type),
                           .format = types.keep(given.format),
                           .description = types.keep(given.description),
                           .wide = given.priority > 0,
                           .cell = types.keep(given.json_path.starts_with('[') ? "{" + given.json_path + "}" : given.json_path)});
    }
    if (version.additional_printer_columns.empty()) {
        columns.push_back(
            {.name = "Age", .type = "date", .description = "When the object was created.", .cell = ".metadata.creationTimestamp"});
    }
    kind->columns = types.keep_rows(std::move(columns));
}

void CustomKind::Version::add_subresources(const CustomResourceDefinitionVersion& version) {
    std::vector<schema::Subresource> subresources;
    if (version.subresources && version.subresources->status)
        subresources.push_back({"status", kind->group, kind->version, kind->kind, SubresourceVerbs});
    // Definitions may have been stored before they were validated.
    const auto is_path = [](const std::string& path) { return path.size() > 1 && path[0] == '.'; };
    if (version.subresources && version.subresources->scale && is_path(version.subresources->scale->spec_replicas_path)) {
        const CustomResourceSubresourceScale& given = *version.subresources->scale;
        subresources.push_back({"scale", "autoscaling", "v1", "Scale", SubresourceVerbs});
        resource.scale = {given.spec_replicas_path, given.status_replicas_path, given.label_selector_path.value_or("")};
    }
    kind->subresources = types.keep_rows(std::move(subresources));
}

void CustomKind::Version::set_strategy(bool has_status) {
    strategy.group = kind->group;
    strategy.kind = kind->kind;
    strategy.generation = Generation::OnChangeOutsideMetadata;
    strategy.unconditional_update = false;
    strategy.deprecation = deprecation;
    strategy.validate = [this](const ApiObject& object, FieldErrors& errors) {
        validator->validate(object.tree(), errors);
        validate_rules(object, nullptr, errors);
    };
    strategy.validate_update = [this](const ApiObject& object, const ApiObject& old, FieldErrors& errors) {
        validator->validate_update(object.tree(), old.tree(), errors);
        validate_rules(object, &old, errors);
    };
    if (!has_status) return;
    strategy.validate_status_update = [check = strategy.validate_update](const ApiObject& object, const ApiObject& old, const WriteContext&,
                                                                         FieldErrors& errors) { check(object, old, errors); };
    strategy.prepare_for_status_update = [](ApiObject& object, const ApiObject& old, const WriteContext&) {
        auto managed = object.metadata().managed_fields;
        object.copy_field("metadata", old);
        object.edit_metadata([&](ObjectMeta& metadata) { metadata.managed_fields = std::move(managed); });
    };
}

void CustomKind::Version::validate_rules(const ApiObject& object, const ApiObject* old, FieldErrors& errors) const {
    if (!has_rules) return;
    if (!rules) {
        const auto schema = schema::parse_json(schema_json, {.depth = schema::MaxTreeDepth});
        CHECK(schema);  // written here
        rules = std::make_unique<ValidationRules>(*schema, *validator);
    }
    rules->validate(object.tree(), old ? &old->tree() : nullptr, errors);
}

/// While the instances are removed, no new ones come.
void CustomKind::Version::refuse_creation() {
    strategy.begin_write = [this](ApiObject* object, const ApiObject* old, TransactionDraft&, FieldErrors&) -> Result<void> {
        if (!object || old) return {};
        return forbidden_object(*kind, object->name(), "create not allowed while custom resource definition is terminating");
    };
}

Value CustomKind::Version::read(Value tree) const {
    if (!tree.is_object()) return tree;
    tree["apiVersion"] = resource.kind->api_version();
    tree["kind"] = resource.kind->kind;
    schema::prune(tree, *kind->type, true);
    schema::apply_table_defaults(tree, *kind->type);
    return tree;
}

CustomKind::CustomKind() = default;
CustomKind::~CustomKind() = default;

Result<std::shared_ptr<const CustomKind>> CustomKind::create(const CustomResourceDefinition& definition, std::uint64_t& form,
                                                             std::unique_ptr<VersionConverter> converter) {
    const std::shared_ptr<CustomKind> made(new CustomKind());
    made->converter_ = std::move(converter);
    for (const bool storage : {true, false}) {
        for (const CustomResourceDefinitionVersion& given : definition.spec.versions) {
            if (given.storage != storage || (!given.storage && !given.served)) continue;
            Version& version = *made->versions_.emplace_back(new Version());
            TRY_VOID(version.describe(definition, given));
            version.resource.selectable = selectable_fields(given);
        }
    }
    if (made->versions_.empty()) return Error(Reason::Invalid, "no version is stored");
    const std::string storage_version = made->versions_.front()->kind->api_version();
    for (const auto& version : made->versions_) {
        Resource& resource = version->resource;
        resource.kind = resource.stored = version->kind;
        resource.strategy = &version->strategy;
        resource.prefix = kind_prefix(*version->kind);
        resource.form = ++form;
        resource.storage_api_version = storage_version;
        resource.conversion.from_stored = [raw = version.get()](Value tree) { return raw->read(std::move(tree)); };
        resource.converter = made->converter_.get();
        if (resource.converter && version->kind->is(schema::Kind::Resource)) resource.converter->add(resource);
        version->kind->storage_hash = version->types.keep(storage_hash(*made->versions_.front()->kind));
        if (version == made->versions_.front()) continue;
        if (resource.converter) {
            // The webhook has made it an object of the stored version.
            resource.conversion.to_stored = [type = made->versions_.front()->kind->type](Value tree) {
                schema::prune(tree, *type, true);
                return tree;
            };
        } else {
            resource.conversion.to_stored = [storage_version](Value tree) {
                tree["apiVersion"] = storage_version;
                return tree;
            };
        }
    }
    return made;
}

void CustomKind::Deleter::operator()(Version* version) const { delete version; }

std::vector<ResourcePtr> CustomKind::resources() const {
    std::vector<ResourcePtr> resources;
    for (const auto& version : versions_) resources.emplace_back(shared_from_this(), &version->resource);
    return resources;
}

std::optional<Value> CustomKind::schema_of(const schema::Type& type) const {
    const auto found = std::ranges::find_if(versions_, [&](const auto& version) { return version->kind->type == &type; });
    if (found == versions_.end()) return std::nullopt;
    auto schema = schema::parse_json((*found)->schema_json, {.depth = schema::MaxTreeDepth});
    return schema ? std::optional(*std::move(schema)) : std::nullopt;
}

}  // namespace porthole::apiserver
