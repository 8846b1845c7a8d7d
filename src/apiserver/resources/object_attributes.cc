#include "apiserver/resources/object_attributes.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "apiserver/encryption/encrypting_engine.h"
#include "schema/json/json.h"
#include "schema/json/json_parts.h"
#include "schema/value_at.h"

namespace porthole::apiserver {
namespace {

std::string_view path_of(const SelectableField& field) { return field.path.empty() ? field.name : field.path; }

using ValueAt = std::function<schema::Value(std::string_view path)>;

std::string text_of(const SelectableField& field, const ValueAt& at) {
    const auto is_missing = [](const schema::Value& value) { return value.is_null() || value.string_or("x").empty(); };
    schema::Value value = at(path_of(field));
    if (is_missing(value) && !field.otherwise.empty()) value = at(field.otherwise);
    if (is_missing(value)) return std::string(field.absent);
    if (value.is_string()) return std::move(value.as_string());
    if (value.is_bool()) return value.as_bool() ? "true" : "false";
    if (value.is_int()) return std::to_string(value.as_int());
    return std::string(field.absent);
}

bool is_of_every_kind(std::string_view field) { return field == "metadata.name" || field == "metadata.namespace"; }

Error unselectable(const SelectableFields& selectable, const std::string& field) {
    if (selectable.fields.empty()) {
        return Error(Reason::BadRequest, '"' + field + "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    }
    return Error(Reason::BadRequest, "field label not supported: " + field);
}

}  // namespace

ObjectAttributes::ObjectAttributes(std::shared_ptr<const SelectableFields> selectable, const schema::Value& object)
    : selectable_(std::move(selectable)) {
    LabelTexts labels;
    if (const schema::Value* members = object.at_path({"metadata", "labels"}); members && members->is_object())
        for (const schema::Member& member : members->as_object()) labels.emplace_back(member.key, member.value.string_or(""));
    std::ranges::sort(labels);
    set(object.string_at({"metadata", "name"}), object.string_at({"metadata", "namespace"}), labels, [&](std::string_view path) {
        const schema::Value* value = schema::find_at(object, path);
        return value ? *value : schema::Value();
    });
}

ObjectAttributes::ObjectAttributes(std::shared_ptr<const SelectableFields> selectable, const ApiObject& object)
    : selectable_(std::move(selectable)) {
    const ObjectMeta& metadata = object.metadata();
    set(metadata.name, metadata.namespace_, LabelTexts(metadata.labels.begin(), metadata.labels.end()),
        [&](std::string_view path) { return object.value_at(path); });
}

void ObjectAttributes::set(std::string_view name, std::string_view namespace_, const LabelTexts& labels, const ValueAt& at) {
    const std::size_t count = first_label() + 2 * labels.size();
    std::string texts;
    std::vector<std::uint32_t> numbers{static_cast<std::uint32_t>(count)};
    numbers.reserve(1 + count);
    const auto add = [&](std::string_view text) {
        texts += text;
        numbers.push_back(static_cast<std::uint32_t>(texts.size()));
    };
    add(name);
    add(namespace_);
    for (const SelectableField& field : selectable_->fields) add(text_of(field, at));
    for (const auto& [key, value] : labels) {
        add(key);
        add(value);
    }
    const std::size_t size = numbers.size() * sizeof(std::uint32_t);
    block_ = std::make_unique_for_overwrite<char[]>(size + texts.size());
    std::memcpy(block_.get(), numbers.data(), size);
    std::ranges::copy(texts, block_.get() + size);
}

std::uint32_t ObjectAttributes::number(std::size_t index) const {
    std::uint32_t number = 0;
    std::memcpy(&number, block_.get() + index * sizeof number, sizeof number);
    return number;
}

std::string_view ObjectAttributes::text(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : number(index);
    const char* texts = block_.get() + (1 + text_count()) * sizeof(std::uint32_t);
    return {texts + begin, number(index + 1) - begin};
}

std::string_view ObjectAttributes::topic() const {
    return selectable_->topic_field.empty() ? std::string_view() : field(selectable_->topic_field);
}

Labels ObjectAttributes::labels() const {
    Labels labels;
    for (std::size_t at = first_label(); at < text_count(); at += 2) labels.emplace(text(at), text(at + 1));
    return labels;
}

std::optional<std::string_view> ObjectAttributes::find_label(std::string_view key) const {
    const auto at = [this](std::size_t number) { return first_label() + 2 * number; };
    const auto numbers = std::views::iota(std::size_t(0), label_count());
    const auto found = std::ranges::partition_point(numbers, [&](std::size_t number) { return text(at(number)) < key; });
    if (found == numbers.end() || text(at(*found)) != key) return std::nullopt;
    return text(at(*found) + 1);
}

bool ObjectAttributes::matches(const LabelSelector& selector) const {
    std::string value;
    return selector.matches_by([&](const std::string& key) -> const std::string* {
        const auto found = find_label(key);
        if (!found) return nullptr;
        value = *found;
        return &value;
    });
}

std::string_view ObjectAttributes::field(std::string_view name) const {
    if (name == "metadata.name") return text(0);
    if (name == "metadata.namespace") return text(1);
    for (std::size_t i = 0; i < selectable_->fields.size(); ++i)
        if (selectable_->fields[i].name == name) return text(2 + i);
    return {};
}

Result<ObjectFilter> ObjectFilter::create(const Resource& resource, std::string_view label_selector, std::string_view field_selector) {
    ObjectFilter filter;
    filter.selectable_ = resource.selectable;
    const SelectableFields& selectable = *filter.selectable_;
    TRY(filter.labels_, LabelSelector::parse(label_selector));
    TRY(filter.fields_, FieldSelector::parse(field_selector));
    if (const auto& stored_names = resource.conversion.selectable_fields; !stored_names.empty()) {
        for (FieldSelector::Term& term : filter.fields_.terms()) {
            const auto found = stored_names.find(term.field);
            if (found != stored_names.end())
                term.field = found->second;
            else if (!is_of_every_kind(term.field))
                return unselectable(selectable, term.field);
        }
    }
    for (const FieldSelector::Term& term : filter.fields_.terms()) {
        const bool known = is_of_every_kind(term.field) ||
                           std::ranges::find(selectable.fields, term.field, &SelectableField::name) != selectable.fields.end();
        if (!known) return unselectable(selectable, term.field);
    }
    return filter;
}

bool ObjectFilter::may_match_unreadable(const store::Record& record) const {
    std::string_view rest = record.key;
    const std::string_view name = rest.substr(rest.rfind('/') + 1);
    rest = rest.substr(0, rest.rfind('/'));
    const std::string_view namespace_ = rest.substr(rest.rfind('/') + 1);
    return std::ranges::all_of(fields_.terms(), [&](const FieldSelector::Term& term) {
        if (term.field == "metadata.name") return (term.value == name) == term.equal;
        if (term.field == "metadata.namespace" && term.equal) return term.value == namespace_;
        return true;
    });
}

bool ObjectFilter::matches(const store::Record& record) const {
    if (empty()) return true;
    if (is_unreadable(record.value)) return may_match_unreadable(record);
    const auto* attributes = static_cast<const ObjectAttributes*>(record.attributes.get());
    // A record from before the server started, or of another schema, was looked at with other fields in mind.
    const bool fits =
        attributes && (fields_.terms().empty() || attributes->selectable() == selectable_.get() || selectable_->fields.empty());
    if (fits) return matches(*attributes);
    const auto tree = schema::parse_json(*record.value.bytes());
    return tree && matches(ObjectAttributes(selectable_, *tree));
}

bool ObjectFilter::matches(const ObjectAttributes& attributes) const {
    return attributes.matches(labels_) && fields_.matches([&](const std::string& field) { return attributes.field(field); });
}

std::string_view ObjectFilter::equal_to(std::string_view field) const {
    for (const FieldSelector::Term& term : fields_.terms())
        if (term.field == field && term.equal) return term.value;
    return {};
}

const ObjectAttributes& attributes_of(const store::Record& record) {
    CHECK(record.attributes);
    return static_cast<const ObjectAttributes&>(*record.attributes);
}

store::AttributesOf make_attributes_of(const ResourceTable& resources) {
    return [&resources](std::string_view key, std::string_view value) -> std::shared_ptr<const store::Attributes> {
        // Objects of custom resources are read before their definitions are known; their labels are what most selectors ask for.
        static const auto labels_only = std::make_shared<const SelectableFields>();
        const Resource* resource = resources.find_by_key(key);
        const auto& selectable = resource ? resource->selectable : labels_only;
        std::vector<std::string_view> parts{"metadata.name", "metadata.namespace", "metadata.labels"};
        for (const SelectableField& field : selectable->fields) {
            parts.push_back(path_of(field));
            if (!field.otherwise.empty()) parts.push_back(field.otherwise);
        }
        const auto tree = schema::parse_json_parts(value, parts);
        return std::make_shared<ObjectAttributes>(selectable, tree ? *tree : schema::null_value());
    };
}

}  // namespace porthole::apiserver
