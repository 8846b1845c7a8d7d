#include "schema/fields/owned_types.h"

#include <gtest/gtest.h>

#include "api/meta_v1.h"
#include "schema/fields/decoding_fixture.h"

namespace porthole::schema {
namespace {

constexpr std::string_view Schema = R"({"type":"object","required":["spec"],"properties":{
    "metadata":{"type":"object"},
    "spec":{"type":"object","required":["size"],"properties":{
        "size":{"type":"integer","minimum":1,"maximum":9},
        "mode":{"type":"string","enum":["fast","slow"],"default":"fast"},
        "note":{"type":"string","nullable":true,"default":"x"},
        "name":{"type":"string","pattern":"^[a-z]+$","maxLength":5},
        "port":{"x-kubernetes-int-or-string":true},
        "tags":{"type":"array","items":{"type":"string"},"maxItems":2,"x-kubernetes-list-type":"set"},
        "matrix":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
        "labels":{"type":"object","additionalProperties":{"type":"string"}},
        "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],
                 "items":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"weight":{"type":"number","default":0.5}}}},
        "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
        "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object"}}},
        "nested":{"type":"object","properties":{"zero":{"type":"integer","default":7}}}}}}})";

class CustomResource : public testing::Test {
protected:
    CustomResource() {
        auto type = owned_.add_resource("Widget", *parse_json(Schema), api::meta::v1::ObjectMeta::schema_type());
        kind_.type = type.value();
        kind_.group = "example.com";
        kind_.version = "v1";
        kind_.kind = "Widget";
    }
    OwnedTypes owned_;
    Kind kind_;
};

TEST(OwnedTypes, FindFieldsOfAnyName) {
    const std::vector<std::string> names{"a", "aa", "ab", "b", "z", "zz", "\u00e4", "\u00e4a", "\u03b1", "\U0001f600"};
    std::string properties;
    for (const std::string& name : names) properties += (properties.empty() ? "\"" : ",\"") + name + R"(":{"type":"string"})";
    OwnedTypes owned;
    const auto type = owned.add_resource("Thing", *parse_json(R"({"type":"object","properties":{)" + properties + "}}"), Type());
    ASSERT_TRUE(type);
    for (const std::string& name : names) {
        const Field* found = (*type)->find_field(name);
        EXPECT_TRUE(found && found->name == name) << name;
    }
    for (const char* name : {"", "A", "ac", "zzz", "\u00e4b", "\u03b2"}) EXPECT_EQ((*type)->find_field(name), nullptr) << name;
}

TEST_F(CustomResource, LosesWhatItsSchemaDoesNotKnow) {
    const auto decoded =
        decode_object(kind_, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","x":1},"spec":{"size":1,"y":2,
        "note":null,"mode":null,"open":{"any":[1]},"matrix":[[1,2]],"template":{"apiVersion":"v1","kind":"Pod","extra":1,"spec":{"gone":1}},"parts":[{"id":"p","z":1}]}})",
                      FieldValidation::Warn);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(
        to_json(decoded->value),
        R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"note":null,"open":{"any":[1]},"matrix":[[1,2]],)"
        R"("template":{"apiVersion":"v1","kind":"Pod","extra":1,"spec":{}},"parts":[{"id":"p"}]}})");
    EXPECT_EQ(decoded->warnings,
              (std::vector<std::string>{"unknown field \"metadata.x\"", "unknown field \"spec.y\"",
                                        "unknown field \"spec.template.spec.gone\"", "unknown field \"spec.parts[0].z\""}));
}

TEST_F(CustomResource, GetsItsDefaults) {
    Value widget = *parse_json(R"({"spec":{"size":0,"parts":[{"id":"a"}],"nested":{"zero":0}}})");
    apply_table_defaults(widget, *kind_.type);
    EXPECT_EQ(widget, *parse_json(R"({"spec":{"size":0,"mode":"fast","note":"x","parts":[{"id":"a","weight":0.5}],"nested":{"zero":0}}})"));
}

TEST_F(CustomResource, MetadataIsAStructWhereverItIs) {
    const auto decoded =
        decode_object(kind_, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"a":1}}})", FieldValidation::Ignore);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().reason, Reason::BadRequest);
    EXPECT_FALSE(decode_object(kind_, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{},"spec":{"size":1,
        "template":{"metadata":{"labels":"x"}}}})",
                               FieldValidation::Ignore));
}

TEST(OwnedTypes, RefuseASchemaWithoutMeaning) {
    OwnedTypes owned;
    EXPECT_FALSE(owned.add_resource("X", *parse_json(R"({"properties":{"a":{"type":"text"}}})"), api::meta::v1::ObjectMeta::schema_type()));
}

}  // namespace
}  // namespace porthole::schema
