#include "apiserver/validation_rules/rule_field_path.h"

#include <algorithm>

#include "schema/fields/field_errors.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// Takes a delimiter, a quoted text, or what comes before the next delimiter. "" at the end.
std::string_view take_token(std::string_view& rest) {
    constexpr std::string_view Delimiters = ".[]";
    std::size_t size = rest.size();
    if (rest.starts_with('\'')) {
        for (std::size_t i = 1; i < rest.size(); ++i) {
            if (rest[i] == '\'' && rest[i - 1] != '\\') {
                size = i + 1;
                break;
            }
        }
    } else if (!rest.empty()) {
        const std::size_t found = rest.find_first_of(Delimiters);
        size = found == 0 ? 1 : std::min(found, rest.size());
    }
    const std::string_view token = rest.substr(0, size);
    rest.remove_prefix(size);
    return token;
}

std::optional<std::string> unquoted(std::string_view token) {
    if (token.size() < 2 || !token.starts_with('\'') || !token.ends_with('\'')) return {};
    constexpr std::string_view Letters = "abfnrtv'\\", Meant = "\a\b\f\n\r\t\v'\\";
    std::string text;
    for (std::size_t i = 1; i + 1 < token.size(); ++i) {
        if (token[i] == '\\' && i + 2 < token.size()) {
            const std::size_t letter = Letters.find(token[++i]);
            if (letter == Letters.npos) return {};
            text += Meant[letter];
        } else {
            text += token[i];
        }
    }
    return text;
}

/// Goes one step down. False where there is nothing.
bool descend(std::string_view name, const Value*& schema, schema::FieldPath& path) {
    const Value* properties = schema->find("properties");
    const bool is_field = properties && properties->is_object();
    path = is_field ? path.child(name) : path.key(name);
    schema = is_field ? properties->find(name) : schema->find("additionalProperties");
    return schema && schema->is_object();
}

}  // namespace

std::optional<std::string> resolve_field_path(std::string_view json_path, const Value& schema) {
    const Value* current = &schema;
    schema::FieldPath path;
    while (!json_path.empty()) {
        const std::string_view opening = take_token(json_path);
        const std::string_view token = take_token(json_path);
        if (token.empty()) return {};
        if (opening == ".") {
            if (!descend(token, current, path)) return {};
        } else if (opening == "[") {
            const auto name = unquoted(token);
            if (!name || !descend(*name, current, path) || take_token(json_path) != "]") return {};
        } else {
            return {};
        }
    }
    return std::string(path.text());
}

}  // namespace porthole::apiserver
