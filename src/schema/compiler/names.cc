#include "schema/compiler/names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace porthole::schemac {
namespace {

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)); }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)); }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
char to_lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool is_keyword(const std::string& name) {
    static constexpr std::array words = {
        "template",  "operator", "namespace", "default", "continue", "class",    "new",     "delete", "private",  "public",
        "protected", "register", "export",    "not",     "and",      "or",       "int",     "double", "float",    "bool",
        "char",      "long",     "short",     "void",    "auto",     "union",    "enum",    "signed", "unsigned", "switch",
        "case",      "for",      "volatile",  "this",    "requires", "static",   "const",   "struct", "if",       "else",
        "do",        "while",    "return",    "friend",  "virtual",  "typename", "using",   "break",  "goto",     "mutable",
        "explicit",  "inline",   "extern",    "throw",   "try",      "catch",    "concept", "true",   "false",
    };
    return std::find(words.begin(), words.end(), name) != words.end();
}

/// Whether a new word starts at `i`: at the first capital of a run, and at the last one when small letters follow, but the
/// plural of an acronym stays whole (podIPs), and so does a version after one (openAPIV3Schema → open_api_v3_schema, IPv6Address →
/// ipv6_address).
bool starts_word(const std::string& name, std::size_t i) {
    if (i == 0 || !upper(name[i])) return false;
    if (!upper(name[i - 1])) return true;
    const bool more = i + 1 < name.size();
    if (more && digit(name[i + 1])) return name[i] == 'V';
    if (!more || !lower(name[i + 1])) return false;
    if (name[i + 1] == 'v' && i + 2 < name.size() && digit(name[i + 2])) return false;
    const bool plural = name[i + 1] == 's' && (i + 2 == name.size() || upper(name[i + 2]));
    return !plural;
}

}  // namespace

std::string member_name(const std::string& wire_name) {
    std::string result;
    for (std::size_t i = 0; i < wire_name.size(); ++i) {
        const char c = wire_name[i];
        if (!std::isalnum(static_cast<unsigned char>(c))) {
            if (!result.empty() && result.back() != '_') result += '_';
            continue;
        }
        if (starts_word(wire_name, i) && !result.empty() && result.back() != '_') result += '_';
        result += to_lower(c);
    }
    return is_keyword(result) ? result + "_" : result;
}

std::string enumerator_name(const std::string& value) {
    const bool shouting = std::none_of(value.begin(), value.end(), lower);
    std::string result;
    bool start = true;
    for (const char c : value) {
        if (!std::isalnum(static_cast<unsigned char>(c))) {
            start = true;
            continue;
        }
        result += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : shouting ? to_lower(c) : c;
        start = false;
    }
    if (result.empty()) return "Empty";
    if (digit(result[0])) return "Value" + result;
    return result;
}

std::string package_namespace(const Package& package) {
    std::string name = package.directory;
    name.replace(name.find('/'), 1, "::");
    return "porthole::api::" + name;
}

std::string package_file(const Package& package) {
    std::string name = package.directory;
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
}

std::string qualified(const TypeDef& type) { return "::" + package_namespace(*type.package) + "::" + type.name; }

std::string literal(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

}  // namespace porthole::schemac
