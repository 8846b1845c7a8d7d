#include "apiserver/validation/api_object.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "api/registry.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/random_object.h"

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

/// Names that lead to a value, with dots between.
void find_paths(const schema::Value& value, const std::string& path, std::vector<std::string>& found) {
    if (!path.empty()) found.push_back(path);
    if (!value.is_object()) return;
    for (const schema::Member& member : value.as_object())
        if (member.key.find('.') == std::string::npos) find_paths(member.value, path + (path.empty() ? "" : ".") + member.key, found);
}

TEST(ApiObject, OfEveryKindIsStoredAsTheSameTextFromAStructAndFromATree) {
    for (const schema::Kind* kind : api::registry().kinds()) {
        if (!kind->is(schema::Kind::Resource) || !kind->type->find_field("metadata")) continue;
        for (std::uint32_t seed = 1; seed <= 4; ++seed) {
            SCOPED_TRACE(std::string(kind->kind) + " seed " + std::to_string(seed));
            schema::Value content = schema::to_value(*kind, schema::RandomObject(seed).make(*kind->type).get());
            content["metadata"].erase("managedFields");
            content["metadata"].erase("selfLink");
            schema::Instance made(*kind->type);
            ASSERT_TRUE(schema::from_value(*kind->type, made.get(), content));
            ApiObject structure(*kind, std::move(made)), tree(*kind, content);
            for (ApiObject* object : {&structure, &tree}) object->set_managed_fields_text(seed % 2 == 0 ? Fields : "");
            std::vector<std::string> paths{"spec.nothing", "nothing"};
            find_paths(content, "", paths);
            for (const std::string& path : paths)
                if (path != "apiVersion" && path != "kind") EXPECT_EQ(structure.value_at(path), tree.value_at(path)) << path;
            EXPECT_EQ(structure.to_json(), tree.to_json());
            const ApiObject::GappedJson one = std::move(structure).to_gapped_json(), other = std::move(tree).to_gapped_json();
            EXPECT_EQ(one.text, other.text);
            EXPECT_EQ(one.gap, other.gap);
            EXPECT_EQ(one.depth, other.depth);
        }
    }
}

/// A struct that has got its managedFields as text.
ApiObject bare_struct() {
    Pod pod;
    pod.metadata.name = "a";
    pod.metadata.uid = "u";
    pod.metadata.resource_version = "1";
    pod.spec.node_name = "n";
    ApiObject object = ApiObject::of(pod);
    object.set_managed_fields_text(Fields);
    return object;
}

TEST(ApiObject, KeepsManagedFieldsThatAStructHasAsText) {
    const std::string text = bare_struct().to_json();
    EXPECT_NE(text.find(std::string(",\"managedFields\":") + Fields + "}"), std::string::npos) << text;
    EXPECT_EQ(ApiObject(bare_struct()).to_json(), text);
    EXPECT_EQ(schema::to_json(bare_struct().tree()), text);
    EXPECT_FALSE(bare_struct().bare_tree().at_path({"metadata", "managedFields"}));
    EXPECT_EQ(bare_struct().view<Pod>().metadata.managed_fields.size(), 1u);
    ApiObject edited = bare_struct();
    edited.edit<Pod>().spec.node_name = "other";
    EXPECT_EQ(edited.tree().at_path({"metadata", "managedFields"})->as_array().size(), 1u);
    EXPECT_FALSE(bare_struct().same_field("metadata", ApiObject::of(bare_struct().view<Pod>())) &&
                 bare_struct().same_content(ApiObject::of(Pod())));
    const ApiObject object = bare_struct();
    const ObjectMeta& metadata = object.metadata();
    EXPECT_TRUE(metadata.managed_fields.empty());
    object.tree();
    EXPECT_EQ(metadata.managed_fields.size(), 1u);
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
