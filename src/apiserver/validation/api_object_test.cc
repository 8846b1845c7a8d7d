#include "apiserver/validation/api_object.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Pod;

constexpr const char* Fields =
    R"([{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:nodeName":{}}}}])";

std::string stored(const std::string& node = "n") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"1","managedFields":)" +
           std::string(Fields) + R"(},"spec":{"nodeName":")" + node + R"("},"status":{}})";
}

/// With managedFields as text.
ApiObject bare(const std::string& node = "n") {
    schema::Value tree = schema::parse_json(stored(node)).value();
    tree["metadata"].erase("managedFields");
    return ApiObject(Pod::kind(), std::move(tree), Fields);
}

TEST(ApiObject, IsTheSameWhileItsManagedFieldsAreText) {
    const ApiObject object = bare();
    EXPECT_FALSE(object.bare_tree().at_path({"metadata", "managedFields"}));
    EXPECT_EQ(object.to_json(), stored());
    EXPECT_EQ(ApiObject(object).to_json(), stored());
    EXPECT_EQ(object.managed_fields_text(), Fields);
    EXPECT_EQ(schema::to_json(object.tree()), stored());
    EXPECT_EQ(object.managed_fields_text(), "");
    EXPECT_EQ(object.to_json(), stored());
    ApiObject::GappedJson json = bare().to_gapped_json();
    EXPECT_EQ(json.text.insert(json.gap, "1"), stored());
}

TEST(ApiObject, ReadsManagedFieldsForWhoeverWantsThem) {
    EXPECT_EQ(bare().view<Pod>().metadata.managed_fields.size(), 1u);
    ApiObject edited = bare();
    edited.edit<Pod>().spec.node_name = "other";
    EXPECT_EQ(edited.tree().at_path({"metadata", "managedFields"})->as_array().size(), 1u);
    ApiObject tree = bare();
    EXPECT_TRUE(tree.edit_tree().at_path({"metadata", "managedFields"}));
    const ApiObject object = bare();
    const ObjectMeta& metadata = object.metadata();
    EXPECT_TRUE(metadata.managed_fields.empty());
    object.tree();
    EXPECT_EQ(metadata.managed_fields.size(), 1u) << "what was handed out is of the whole object from now on";
}

TEST(ApiObject, KeepsManagedFieldsThroughChangesOfOtherMetadata) {
    ApiObject object = bare();
    object.edit_metadata([](ObjectMeta& metadata) { metadata.generation = 7; });
    EXPECT_EQ(object.managed_fields_text(), Fields);
    EXPECT_NE(object.to_json().find(std::string("\"generation\":7,\"managedFields\":") + Fields + "}"), std::string::npos)
        << object.to_json();
    object.tree();
    object.edit_metadata([](ObjectMeta& metadata) { metadata.generation = 8; });
    EXPECT_NE(object.to_json().find(std::string("\"generation\":8,\"managedFields\":") + Fields + "}"), std::string::npos)
        << object.to_json();
}

TEST(ApiObject, TakesManagedFieldsOverWithMetadata) {
    ApiObject object = bare();
    object.copy_field("spec", bare("other"));
    EXPECT_EQ(object.to_json(), stored("other"));
    ApiObject whole = bare();
    whole.tree();
    object.copy_field("metadata", whole);
    EXPECT_EQ(object.managed_fields_text(), "");
    EXPECT_EQ(object.to_json(), stored("other"));
    whole.copy_field("metadata", bare());
    EXPECT_EQ(whole.managed_fields_text(), Fields);
    EXPECT_EQ(whole.to_json(), stored());
}

TEST(ApiObject, ComparesManagedFieldsInEitherForm) {
    const ApiObject read = bare();
    read.tree();
    EXPECT_TRUE(bare().same_content(bare()));
    EXPECT_TRUE(bare().same_content(read));
    EXPECT_FALSE(bare().same_content(bare("other")));
    ApiObject changed = bare();
    changed.set_managed_fields_text("[]");
    EXPECT_FALSE(changed.same_content(bare()));
    EXPECT_FALSE(changed.same_content(read));
    EXPECT_TRUE(bare().same_field("spec", read));
    EXPECT_TRUE(bare().same_field("metadata", read));
}

TEST(ApiObject, LeavesOutManagedFieldsThatAreNoJson) {
    ApiObject object = bare();
    object.set_managed_fields_text("[{");
    EXPECT_FALSE(object.tree().at_path({"metadata", "managedFields"}));
    EXPECT_EQ(object.view<Pod>().spec.node_name, "n");
}

/// As a struct, and as a tree.
std::vector<ApiObject> in_both_forms(const Pod& pod) {
    std::vector<ApiObject> objects;
    objects.push_back(ApiObject::of(pod));
    objects.emplace_back(Pod::kind(), schema::to_value(pod));
    return objects;
}

TEST(ApiObject, HasNoStatusOnceThatIsCleared) {
    Pod pod, running;
    pod.metadata.name = running.metadata.name = "a";
    running.status.phase = "Running";
    for (const Pod& given : {pod, running}) {
        for (ApiObject& object : in_both_forms(given)) {
            object.clear_field("status");
            EXPECT_EQ(object.to_json(), schema::to_json(schema::to_value(pod)));
        }
    }
}

TEST(ApiObject, GetsDefaultsInEitherForm) {
    Pod pod;
    pod.spec.containers.emplace_back().name = "c";
    for (ApiObject& object : in_both_forms(pod)) {
        (void)object.tree();  // an earlier form does not stay
        object.apply_table_defaults();
        EXPECT_EQ(object.tree().string_at({"spec", "restartPolicy"}), "Always");
        EXPECT_EQ(object.view<Pod>().spec.containers[0].termination_message_policy, "File");
    }
}

TEST(ApiObject, KnowsWhetherThereAreManagedFieldsInAnyForm) {
    EXPECT_TRUE(bare().has_managed_fields());
    Pod pod;
    for (const ApiObject& object : in_both_forms(pod)) EXPECT_FALSE(object.has_managed_fields());
    pod.metadata.managed_fields.emplace_back().manager = "a";
    for (const ApiObject& object : in_both_forms(pod)) EXPECT_TRUE(object.has_managed_fields());
}

}  // namespace
}  // namespace porthole::apiserver
