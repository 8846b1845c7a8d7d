// Schemas of custom resources: first a schema, then after a line break an object.
#include "api/meta_v1.h"
#include "fuzz_target.h"
#include "schema/fields/fields.h"
#include "schema/fields/owned_types.h"
#include "schema/json/json.h"
#include "schema/structural/schema_validator.h"
#include "schema/structural/structural_rules.h"

using namespace porthole;
using namespace porthole::schema;
using namespace porthole::fuzz;

namespace {

/// What passes the rules can be served: rows and a validator can be made of it, and they agree on every object.
void serve(const Value& schema, std::string_view object) {
    OwnedTypes types;
    Kind kind;
    const auto type = types.add_resource("Thing", schema, api::meta::v1::ObjectMeta::schema_type());
    const auto validator = SchemaValidator::compile(schema);
    expect(type && validator);
    kind.kind = "Thing";
    kind.version = "v1";
    kind.type = *type;
    auto tree = parse_json(object);
    if (!tree) return;
    auto decoded = conform_object(kind, *std::move(tree), {}, FieldValidation::Ignore);
    if (!decoded) return;
    apply_table_defaults(decoded->value, **type);
    Value again = decoded->value;
    expect(prune(again, **type, true).empty());
    FieldErrors errors, forgiven;
    validator->validate(decoded->value, errors);
    validator->validate_update(decoded->value, decoded->value, forgiven);
    expect(forgiven.empty());
}

}  // namespace

FUZZ_TARGET(structural_schema_fuzz) {
    const std::size_t line = text.find('\n');
    const auto schema = parse_json(text.substr(0, line));
    if (!schema || !schema->is_object()) return;
    FieldErrors errors;
    SchemaPatterns patterns;
    validate_structural_schema(*schema, "schema", patterns, errors);
    if (errors.empty()) serve(*schema, line == text.npos ? "{}" : text.substr(line + 1));
}
