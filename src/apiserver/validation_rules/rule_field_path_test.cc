#include "apiserver/validation_rules/rule_field_path.h"

#include <gtest/gtest.h>

#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

TEST(RuleFieldPath, LeadsToFieldsAndKeysThatTheSchemaDescribes) {
    const schema::Value schema = *schema::parse_yaml(R"(
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer}
      x.y: {type: string}
      it's: {type: string}
      labels: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}
      any: {type: object, additionalProperties: true}
      list: {type: array, items: {type: string}}
)");
    struct {
        const char *path, *text;  // nullptr: refused
    } const rows[] = {
        {".spec", "spec"},
        {".spec.size", "spec.size"},
        {"['spec'].size", "spec.size"},
        {".spec['x.y']", "spec.x.y"},
        {R"(.spec['it\'s'])", "spec.it's"},
        {".spec.labels['a.b']", "spec.labels[a.b]"},
        {".spec.labels.key.a", "spec.labels[key].a"},
        {"spec", nullptr},
        {".", nullptr},
        {"..spec", nullptr},
        {".spec.", nullptr},
        {".spec.gone", nullptr},
        {".spec.size.more", nullptr},
        {".spec.any.key", nullptr},
        {".spec.list[0]", nullptr},
        {".spec[size]", nullptr},
        {".spec['size'", nullptr},
        {".spec['size", nullptr},
        {R"(.spec['\q'])", nullptr},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.path);
        EXPECT_EQ(resolve_field_path(row.path, schema).value_or("refused"), row.text ? row.text : "refused");
    }
}

}  // namespace
}  // namespace porthole::apiserver
