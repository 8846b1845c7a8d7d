#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/registry.h"
#include "apiserver/allocation/service_allocator.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {

/// Sends objects of one kind through the kind's rules in the order of a request, without a store.
///
/// Objects are written as a base in YAML and merge patches on it.
class RulesOf {
public:
    RulesOf(std::string_view group, std::string_view version, std::string_view kind, const char* base)
        : kind_(*api::registry().find_kind(group, version, kind)), base_(*schema::parse_yaml(base)) {
        for (Strategy& one : kind_strategies({allocator_}))
            if (one.group == group && one.kind == kind) strategy_ = std::move(one);
        CHECK(!strategy_.kind.empty());
    }

    /// The errors for creating base + patch; "" if there are none.
    std::string create(const char* patch = "{}") {
        ApiObject object = prepared(patch);
        FieldErrors errors;
        validate_metadata(object.metadata(), kind_, strategy_, errors);
        if (strategy_.validate) strategy_.validate(object, errors);
        return text(errors);
    }
    /// The warnings for the same, one per line.
    std::string warnings(const char* patch = "{}") {
        std::vector<std::string> told;
        if (strategy_.warn) strategy_.warn(prepared(patch), nullptr, told);
        return fmt::format("{}", fmt::join(told, "\n"));
    }
    /// The object as it would be stored.
    schema::Value created(const char* patch = "{}") { return prepared(patch).tree(); }

    /// The errors for an update from base + `before` by the further patch `change`.
    std::string update(const char* before, const char* change) {
        const ApiObject old = prepared(before);
        ApiObject object = changed(old, change);
        if (strategy_.prepare_for_update) strategy_.prepare_for_update(object, old, context_);
        FieldErrors errors;
        if (strategy_.validate_update)
            strategy_.validate_update(object, old, errors);
        else if (strategy_.validate)
            strategy_.validate(object, errors);
        updated_ = object.tree();
        return text(errors);
    }
    std::string update(const char* change) { return update("{}", change); }
    std::string update_status(const char* before, const char* change, std::string_view subresource = "status") {
        const ApiObject old = changed(prepared("{}"), before);
        ApiObject object = changed(old, change);
        context_.subresource = subresource;
        if (strategy_.prepare_for_status_update) strategy_.prepare_for_status_update(object, old, context_);
        FieldErrors errors;
        if (strategy_.validate_status_update) strategy_.validate_status_update(object, old, context_, errors);
        updated_ = object.tree();
        return text(errors);
    }
    /// The object as of the last update.
    const schema::Value& updated() const { return updated_; }
    const Strategy& strategy() const { return strategy_; }

private:
    static std::string text(const FieldErrors& errors) { return errors.empty() ? "" : errors.text(); }

    ApiObject changed(const ApiObject& from, const char* change) {
        auto tree = schema::apply_patch(schema::PatchType::Merge, kind_, from.tree(), *schema::parse_yaml(change));
        CHECK(tree.has_value());
        return decoded(std::move(*tree));
    }
    ApiObject decoded(schema::Value tree) {
        auto conformed = schema::conform_object(kind_, std::move(tree), {}, schema::FieldValidation::Strict);
        if (!conformed) ADD_FAILURE() << conformed.error().message;
        ApiObject object(kind_, std::move(conformed->value));
        schema::apply_table_defaults(object.edit_tree(), *kind_.type);
        if (strategy_.set_defaults) strategy_.set_defaults(object);
        return object;
    }
    ApiObject prepared(const char* patch) {
        ApiObject object = changed(ApiObject(kind_, base_), patch);
        object.edit_metadata([&](ObjectMeta& metadata) {
            if (metadata.name.empty()) metadata.name = "x";
            if (kind_.namespaced()) metadata.namespace_ = "default";
            metadata.uid = "uid-1";
            metadata.resource_version = "1";
        });
        if (strategy_.prepare_for_create) strategy_.prepare_for_create(object, context_);
        if (strategy_.set_defaults) strategy_.set_defaults(object);
        return object;
    }

    SeededRandom random_{1};
    ServiceAllocator allocator_{{.cidrs = {*IpPrefix::parse("10.96.0.0/12")}}, random_};
    const schema::Kind& kind_;
    schema::Value base_, updated_;
    Strategy strategy_;
    User user_{.name = "jane", .groups = {"system:authenticated"}};
    WriteContext context_{.user = user_, .now = Timestamp::from_seconds(1'700'000'000)};
};

/// One row of a table: a patch on the base, and the expected errors.
struct RuleRow {
    const char* name;
    const char* patch;
    const char* answer;
};

inline void expect_answers(RulesOf& rules, std::initializer_list<RuleRow> rows) {
    for (const RuleRow& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(rules.create(row.patch), row.answer);
    }
}
inline void expect_update_answers(RulesOf& rules, std::initializer_list<RuleRow> rows) {
    for (const RuleRow& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(rules.update(row.patch), row.answer);
    }
}
inline void expect_status_answers(RulesOf& rules, const char* before, std::initializer_list<RuleRow> rows) {
    for (const RuleRow& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(rules.update_status(before, row.patch), row.answer);
    }
}

}  // namespace porthole::apiserver
