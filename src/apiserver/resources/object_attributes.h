#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/resources/resource.h"
#include "apiserver/validation/api_object.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "schema/value.h"
#include "store/record.h"

namespace porthole::apiserver {

/// The attributes of a stored object for selectors, kept with its bytes.
class ObjectAttributes final : public store::Attributes {
public:
    ObjectAttributes(std::shared_ptr<const SelectableFields> selectable, const schema::Value& object);
    ObjectAttributes(std::shared_ptr<const SelectableFields> selectable, const ApiObject& object);

    std::string_view topic() const override;
    Labels labels() const;
    /// The view lives as long as this; nullopt if there is no such label.
    std::optional<std::string_view> find_label(std::string_view key) const;
    bool matches(const LabelSelector& selector) const;
    /// The text of a selectable field; "" for a field that is not selectable.
    std::string_view field(std::string_view name) const;
    const SelectableFields* selectable() const { return selectable_.get(); }

    /// Whether the bytes are already in the form of Resource::form, so that they need not be checked. On the store's loop only.
    bool is_in_form(std::uint64_t form) const { return form_ == form; }
    void set_form(std::uint64_t form) const { form_ = form; }

private:
    using LabelTexts = std::vector<std::pair<std::string_view, std::string_view>>;  ///< sorted
    /// `at(path)` is what the object has there, null for nothing.
    void set(std::string_view name, std::string_view namespace_, const LabelTexts& labels,
             const std::function<schema::Value(std::string_view path)>& at);
    std::uint32_t number(std::size_t index) const;
    std::size_t text_count() const { return number(0); }
    std::string_view text(std::size_t index) const;
    std::size_t first_label() const { return 2 + selectable_->fields.size(); }
    std::size_t label_count() const { return (text_count() - first_label()) / 2; }

    std::shared_ptr<const SelectableFields> selectable_;
    mutable std::uint64_t form_ = 0;
    // In one block, as every version of every object has it: the number of texts, where each ends, and the texts themselves: name,
    // namespace, fields as in selectable_->fields, and each label's key and value, by key.
    std::unique_ptr<char[]> block_;
};

/// The selection of a list or watch.
class ObjectFilter {
public:
    ObjectFilter() = default;
    /// Error: BadRequest for a bad selector or a field that cannot be selected by.
    static Result<ObjectFilter> create(const Resource& resource, std::string_view label_selector, std::string_view field_selector);

    bool empty() const { return labels_.empty() && fields_.empty(); }
    /// An object that cannot be decrypted matches if its name and namespace do: the rest is unknown.
    bool matches(const store::Record& record) const;
    /// The required name; "" if the selector does not require one.
    std::string_view name() const { return equal_to("metadata.name"); }
    std::string_view equal_to(std::string_view field) const;

private:
    bool may_match_unreadable(const store::Record& record) const;
    bool matches(const ObjectAttributes& attributes) const;

    std::shared_ptr<const SelectableFields> selectable_;
    LabelSelector labels_;
    FieldSelector fields_;
};

const ObjectAttributes& attributes_of(const store::Record& record);
/// For Store::open.
store::AttributesOf make_attributes_of(const ResourceTable& resources);

}  // namespace porthole::apiserver
