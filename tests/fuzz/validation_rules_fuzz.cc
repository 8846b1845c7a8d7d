// Rules in CEL of custom resources: first a schema, then after line breaks an object and the object before it.
#include "apiserver/validation_rules/definition_rules.h"
#include "apiserver/validation_rules/validation_rules.h"
#include "fuzz_target.h"
#include "schema/json/json.h"
#include "schema/structural/schema_validator.h"
#include "schema/structural/structural_rules.h"

using namespace porthole;
using namespace porthole::apiserver;
using namespace porthole::fuzz;
using schema::FieldErrors;
using schema::parse_json;

namespace {

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

}  // namespace

FUZZ_TARGET(validation_rules_fuzz) {
    const auto schema = parse_json(take_line(text));
    if (!schema || !schema->is_object()) return;
    FieldErrors wrong;
    schema::SchemaPatterns patterns;
    schema::validate_structural_schema(*schema, "schema", patterns, wrong);
    StoredExpressions stored;
    stored.add(*schema);
    FieldErrors refused;
    check_rules(*schema, "schema", {.stored = &stored, .is_structural = wrong.empty()}, refused);
    if (!wrong.empty()) return;
    // Rules that are refused can be there all the same: another server may have stored them.
    const auto validator = schema::SchemaValidator::compile(*schema);
    expect(validator.has_value());
    const ValidationRules rules(*schema, *validator);
    const auto object = parse_json(take_line(text)), old = parse_json(take_line(text));
    if (!object) return;
    FieldErrors errors;
    validator->validate(*object, errors);
    rules.validate(*object, nullptr, errors);
    if (!old) return;
    FieldErrors changed;
    rules.validate(*object, &*old, changed);
}
