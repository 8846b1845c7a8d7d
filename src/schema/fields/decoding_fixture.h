#pragma once
#include "schema/convert.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"

namespace porthole::schema {

/// Reads a JSON body as the API server does.
inline Result<DecodedObject> decode_object(const Kind& kind, std::string_view json, FieldValidation validation) {
    if (auto decoded = decode_struct(kind, json, validation))
        return DecodedObject{to_value(kind, decoded->instance.get()), std::move(decoded->warnings)};
    std::vector<std::string> duplicates;
    TRY(Value tree, parse_json(json, duplicates));
    return conform_object(kind, std::move(tree), duplicates, validation);
}

}  // namespace porthole::schema
