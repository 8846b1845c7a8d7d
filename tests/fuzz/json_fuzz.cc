// JSON: whatever parses is written and parsed again to the same tree; what is read straight into its struct is the same object as by way
// of a tree, and has the same defaults. A check without a tree takes the same texts, and parts are those of the tree.
#include <cstdint>
#include <cstdlib>

#include "api/core_v1.h"
#include "schema/convert.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/json/json_parts.h"

using namespace porthole;

namespace {

void expect_same_object(std::string_view text, const schema::Value& tree) {
    const schema::Kind& kind = api::core::v1::Pod::kind();
    auto straight = schema::decode_struct(kind, text, schema::FieldValidation::Strict);
    if (!straight) return;
    auto by_tree = schema::conform_object(kind, tree, {}, schema::FieldValidation::Strict);
    if (!by_tree || !(schema::to_value(kind, straight->instance.get()) == by_tree->value)) std::abort();
    schema::apply_table_defaults(*kind.type, straight->instance.get());
    schema::apply_table_defaults(by_tree->value, *kind.type);
    const auto canonical = schema::canonical(*kind.type, by_tree->value);
    if (!canonical || !(schema::to_value(kind, straight->instance.get()) == *canonical)) std::abort();
}

void expect_same_parts(std::string_view text, const schema::Value& tree) {
    const auto parts = schema::parse_json_parts(text, {"kind", "metadata.name"});
    if (parts.has_value() != tree.is_object()) std::abort();
    if (!parts) return;
    const auto same = [](const schema::Value* one, const schema::Value* other) { return one && other ? *one == *other : one == other; };
    if (!same(parts->find("kind"), tree.find("kind"))) std::abort();
    if (!same(parts->at_path({"metadata", "name"}), tree.at_path({"metadata", "name"}))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> duplicates;
    const auto value = schema::parse_json(text, duplicates);
    if (schema::check_json(text).has_value() != value.has_value()) std::abort();
    if (!value) return schema::decode_struct(api::core::v1::Pod::kind(), text, schema::FieldValidation::Ignore) ? (std::abort(), 0) : 0;
    const auto again = schema::parse_json(schema::to_json(*value));
    if (!again || !(*again == *value)) std::abort();
    if (duplicates.empty()) expect_same_object(text, *value);
    expect_same_parts(text, *value);

    auto pod = schema::conform_object(api::core::v1::Pod::kind(), *value, {}, schema::FieldValidation::Warn);
    if (!pod) return 0;
    schema::apply_table_defaults(pod->value, api::core::v1::Pod::schema_type());
    schema::FieldErrors errors;
    schema::validate_structure(pod->value, api::core::v1::Pod::kind(), errors);
    if (!errors.empty() && errors.to_error("", "Pod", "x").message.empty()) std::abort();
    return 0;
}
