// JSON: whatever parses is written and parsed again to the same tree; bodies of a kind conform or are refused.
#include <cstdint>
#include <cstdlib>

#include "api/core_v1.h"
#include "schema/fields.h"
#include "schema/json.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto value = schema::parse_json(text);
    if (!value) return 0;
    const auto again = schema::parse_json(schema::to_json(*value));
    if (!again || !(*again == *value)) std::abort();

    auto pod = schema::conform_object(api::core::v1::Pod::kind(), *value, {}, schema::FieldValidation::Warn);
    if (!pod) return 0;
    schema::apply_table_defaults(pod->value, api::core::v1::Pod::schema_type());
    schema::FieldErrors errors;
    schema::validate_structure(pod->value, api::core::v1::Pod::kind(), errors);
    if (!errors.empty() && errors.to_error("", "Pod", "x").message.empty()) std::abort();
    return 0;
}
