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

/// What selectors ask of a stored object, kept with its bytes. Immutable. Borrows the strategy, which outlives the store.
class ObjectAttributes final : public store::Attributes {
public:
    ObjectAttributes(const Strategy& strategy, const schema::Value& object);

    std::string_view topic() const override;
    /// nullptr where there is no such label.
    const std::string* find_label(std::string_view key) const;
    /// The text of a selectable field; "" for a field that is not selectable.
    std::string_view field(std::string_view name) const;

private:
    const Strategy& strategy_;
    std::vector<std::pair<std::string, std::string>> labels_;  // by key
    std::vector<std::string> fields_;                          // as in strategy_.selectable_fields
    std::string name_, namespace_;
};

/// What a list or watch wants to see.
class ObjectFilter {
public:
    ObjectFilter() = default;
    /// Error: BadRequest for a bad selector or a field that cannot be selected by.
    static Result<ObjectFilter> create(const Strategy& strategy, std::string_view label_selector, std::string_view field_selector);

    bool empty() const { return labels_.empty() && fields_.empty(); }
    /// An object that cannot be decrypted matches where its name and namespace do: the rest is not known.
    bool matches(const store::Record& record) const;
    /// What the object's name must be; "" when the selector leaves it open.
    std::string_view name() const { return equal_to("metadata.name"); }
    std::string_view equal_to(std::string_view field) const;

private:
    bool may_match_unreadable(const store::Record& record) const;

    LabelSelector labels_;
    FieldSelector fields_;
};

const ObjectAttributes& attributes_of(const store::Record& record);
/// For Store::open.
store::AttributesOf make_attributes_of(const ResourceTable& resources);

}  // namespace porthole::apiserver
