#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/convert.h"
#include "schema/value.h"

namespace porthole::schema {

/// Limits for reading JSON text.
struct JsonLimits {
    std::size_t depth = 512;  ///< of nested objects and lists
};

/// Error: BadRequest. If a member occurs twice, the last one counts.
Result<Value> parse_json(std::string_view text, JsonLimits limits = {});
/// The same; the paths of duplicate members ("spec.replicas") are added to `duplicates`.
Result<Value> parse_json(std::string_view text, std::vector<std::string>& duplicates, JsonLimits limits = {});

/// Compact. Invalid UTF-8 becomes U+FFFD, so that the result is always valid JSON.
std::string to_json(const Value& value);
void append_json(const Value& value, std::string& out);
/// With line breaks, `indent` blanks a level (kubectl's `-o json` has four).
std::string to_pretty_json(const Value& value, int indent = 4);
/// The text as a JSON string with its quotes.
void append_json_string(std::string_view text, std::string& out);

/// A struct without the detour of a tree.
void append_json(const Type& type, const void* object, std::string& out);
void append_json(const Kind& kind, const void* object, std::string& out);
template <class T>
std::string encode_json(const T& object) {
    std::string out;
    if constexpr (TopLevel<T>)
        append_json(T::kind(), &object, out);
    else
        append_json(T::schema_type(), &object, out);
    return out;
}

/// Errors: BadRequest. Unknown members are ignored, and so are `apiVersion` and `kind`, which the caller knows.
Result<void> decode_json(const Type& type, void* object, std::string_view text);
template <class T>
Result<T> decode_json(std::string_view text) {
    T object;
    TRY_VOID(decode_json(T::schema_type(), &object, text));
    return object;
}

}  // namespace porthole::schema
