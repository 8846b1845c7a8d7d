#include "apiserver/validation_rules/schema_types.h"

#include <gtest/gtest.h>

#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

TEST(SchemaTypes, HaveTheSizesThatSchemasAllow) {
    constexpr std::uint64_t Request = 3 * 1024 * 1024;
    struct {
        const char *schema, *type;
        std::uint64_t most;
        std::int64_t smallest;
    } const rows[] = {
        {"{type: integer}", "int", 0, 1},
        {"{type: number}", "double", 0, 1},
        {"{type: boolean}", "bool", 0, 4},
        {"{type: string}", "string", Request - 2, 2},
        {"{type: string, maxLength: 10}", "string", 40, 2},
        {"{type: string, maxLength: -1}", "string", 0, 2},
        {"{type: string, maxLength: 9223372036854775807}", "string", 9223372036854775804u, 2},
        {"{type: string, enum: [a, four]}", "string", 4, 2},
        {"{type: string, format: byte, maxLength: 10}", "bytes", 10, 2},
        {"{type: string, format: date}", "timestamp", 12, 12},
        {"{type: string, format: date-time}", "timestamp", 32, 21},
        {"{type: string, format: duration}", "duration", 32, 3},
        {"{type: string, format: unknown}", "string", Request - 2, 2},
        {"{x-kubernetes-int-or-string: true}", "dyn", Request - 2, 1},
        {"{x-kubernetes-int-or-string: true, maxLength: 5}", "dyn", 20, 1},
        {"{type: array, items: {type: integer}}", "list(int)", (Request - 2) / 2, 2},
        {"{type: array, maxItems: 7, items: {type: array, items: {type: boolean}}}", "list(list(bool))", 7, 2},
        {"{type: array, items: {type: object, required: [ab], properties: {ab: {type: string}}}}", "list(selfType1.@idx)",
         (Request - 2) / (2 + 2 + 2 + 4 + 1), 2},
        {"{type: object, additionalProperties: {type: string}}", "map(string, string)", (Request - 2) / 8, 2},
        {"{type: object, maxProperties: 3, additionalProperties: {type: string}}", "map(string, string)", 3, 2},
        {"{type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer, default: 1}}}", "selfType1", 0,
         2 + 1 + 1 + 4},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.schema);
        SchemaTypes types;
        const cel::TypeRef type = types.declare(*schema::parse_yaml(row.schema), false);
        ASSERT_TRUE(type);
        EXPECT_EQ(type->to_string(), row.type);
        EXPECT_EQ(type->max_size, row.most);
        EXPECT_EQ(types.smallest_size(*type), row.smallest);
    }
}

TEST(SchemaTypes, LeaveOutWhatASchemaDoesNotDescribe) {
    SchemaTypes types;
    EXPECT_FALSE(types.declare(*schema::parse_yaml("{x-kubernetes-preserve-unknown-fields: true}"), false));
    EXPECT_FALSE(types.declare(*schema::parse_yaml("{type: array, items: {x-kubernetes-preserve-unknown-fields: true}}"), false));
    EXPECT_FALSE(
        types.declare(*schema::parse_yaml("{type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true}}"), false));
    const cel::TypeRef type = types.declare(
        *schema::parse_yaml(
            "{type: object, properties: {any: {x-kubernetes-preserve-unknown-fields: true}, a-b: {type: string}, '1': {type: string}}}"),
        false);
    EXPECT_EQ(type->object->fields.size(), 1u);
    EXPECT_TRUE(type->object->find("a__dash__b"));
}

TEST(SchemaTypes, ShowTheMetadataOfResources) {
    struct {
        const char *name, *schema;
        std::uint64_t longest_name;
    } const rows[] = {
        {"not described", "{type: object}", 3 * 1024 * 1024 - 2},
        {"described in part", "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}}}",
         3 * 1024 * 1024 - 2},
        {"described",
         "{type: object, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object, properties: {name: {type: "
         "string, maxLength: 9}, generateName: {type: string}}}}}",
         36},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        SchemaTypes types;
        const cel::TypeRef type = types.declare(*schema::parse_yaml(row.schema), true);
        ASSERT_TRUE(type->object->find("apiVersion") && type->object->find("kind"));
        const cel::TypeRef metadata = type->object->find("metadata")->type;
        ASSERT_TRUE(metadata->object->find("name") && metadata->object->find("generateName"));
        EXPECT_EQ(metadata->object->find("name")->type->max_size, row.longest_name);
        EXPECT_FALSE(metadata->object->find("labels"));
    }
}

}  // namespace
}  // namespace porthole::apiserver
