#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/resources/resource.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "schema/value.h"
#include "store/record.h"

namespace porthole::apiserver {

/// The attributes of a stored object for selectors, kept with its bytes.
class ObjectAttributes final : public store::Attributes {
public:
    ObjectAttributes(std::shared_ptr<const SelectableFields> selectable, const schema::Value& object);

    std::string_view topic() const override;
    /// By key.
    const std::vector<std::pair<std::string, std::string>>& labels() const { return labels_; }
    /// nullptr if there is no such label.
    const std::string* find_label(std::string_view key) const;
    /// The text of a selectable field; "" for a field that is not selectable.
    std::string_view field(std::string_view name) const;
    const SelectableFields* selectable() const { return selectable_.get(); }

    /// Whether the bytes are already in the form of Resource::form, so that they need not be checked. On the store's loop only.
    bool is_in_form(std::uint64_t form) const { return form_ == form; }
    void set_form(std::uint64_t form) const { form_ = form; }

private:
    std::shared_ptr<const SelectableFields> selectable_;
    mutable std::uint64_t form_ = 0;
    std::vector<std::pair<std::string, std::string>> labels_;  // by key
    std::vector<std::string> fields_;                          // as in selectable_->fields
    std::string name_, namespace_;
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
