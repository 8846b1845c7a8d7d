#include "schema/compiler/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace porthole::schemac {
namespace {

using Words = std::vector<std::string>;

/// Splits at blanks; a word in double quotes keeps its blanks and loses its quotes.
Words split(const std::string& line) {
    Words words;
    std::string word;
    bool quoted = false, any = false;
    for (const char c : line) {
        if (c == '"' && (quoted || word.empty() || word.back() == '=') && !word.starts_with("default=")) {
            quoted = !quoted;
            any = true;
        } else if (c == ' ' && !quoted) {
            if (any) words.push_back(word);
            word.clear();
            any = false;
        } else {
            word += c;
            any = true;
        }
    }
    if (any) words.push_back(word);
    return words;
}

Words split_list(const std::string& text, char separator = ',') {
    Words parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

std::pair<std::string, std::string> split_attribute(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals == std::string::npos ? std::pair(word, std::string()) : std::pair(word.substr(0, equals), word.substr(equals + 1));
}

constexpr std::array FieldAttributes = {
    "required",  "always",      "omitempty", "omitzero",   "default", "enum",       "list",         "atomic",
    "patch",     "retain-keys", "immutable", "min",        "max",     "min-length", "max-length",   "min-items",
    "max-items", "pattern",     "format",    "deprecated", "gate",    "secret",     "may-be-empty", "type-name",
};
constexpr std::array TypeAttributes = {
    "resource", "singular",   "short",   "categories",  "namespaced", "cluster", "stage",  "stored-as", "hash",         "not-stored",
    "since",    "deprecated", "removed", "replaced-by", "list-of",    "group",   "atomic", "union",     "alternatives",
};

class Parser {
public:
    Parser(Package& package, Diagnostics& diagnostics) : package_(package), diagnostics_(diagnostics) {}

    void parse_line(const std::string& raw, int number) {
        place_ = Place{package_.file, number};
        const std::size_t indent = raw.find_first_not_of(' ');
        if (indent == std::string::npos || raw[indent] == '#') return;
        const std::string text = raw.substr(indent);
        if (text.starts_with("///")) return append_description(text.substr(3));
        const Words words = split(text);
        if (indent == 0) return parse_declaration(words);
        if (indent >= 4 && continued_) return (this->*continued_)(words);
        continued_ = nullptr;
        parse_member(words, text);
    }

private:
    void report(const std::string& what) { diagnostics_.add(place_, what); }

    void append_description(const std::string& text) {
        const std::string trimmed = text.substr(std::min(text.find_first_not_of(' '), text.size()));
        description_ += (description_.empty() ? "" : " ") + trimmed;
    }

    void parse_declaration(const Words& words) {
        type_ = nullptr;
        service_ = nullptr;
        continued_ = nullptr;
        const std::string& what = words[0];
        if (what == "package" && words.size() >= 2) return parse_package_line(words);
        if (words.size() < 2) return report("a declaration needs a name");
        if (what == "enum") return parse_enum(words);
        if (what == "kind" || what == "type") return parse_type(words);
        if (what == "list") return parse_list(words);
        if (what == "service") {
            service_ = &package_.services.emplace_back(Service{place_, words[1], {}});
            return;
        }
        report("unknown declaration " + what);
    }

    void parse_package_line(const Words& words) {
        package_.directory = words[1];
        package_.version = words[1].substr(words[1].find('/') + 1);
        for (std::size_t i = 2; i < words.size(); ++i) {
            const auto [name, value] = split_attribute(words[i]);
            if (name == "group")
                package_.group = value;
            else if (name == "openapi")
                package_.openapi = value;
            else if (name == "proto3")
                package_.proto3 = value;
            else
                report("unknown attribute " + name);
        }
    }

    void parse_enum(const Words& words) {
        Enum& added = package_.enums.emplace_back();
        added.place = place_;
        added.name = words[1];
        std::size_t first = 2;
        if (words.size() > 2 && words[2] == "closed") {
            added.closed = true;
            ++first;
        }
        add_enum_values({words.begin() + first, words.end()});
        continued_ = &Parser::add_enum_values;
    }

    void add_enum_values(const Words& words) {
        Enum& target = package_.enums.back();
        for (const std::string& word : words) {
            if (package_.proto3.empty()) {
                target.values.push_back(word);
                continue;
            }
            const auto [name, number] = split_attribute(word);
            target.values.push_back(name);
            target.numbers.push_back(std::atoi(number.c_str()));
        }
    }

    void parse_type(const Words& words) {
        auto added = std::make_unique<TypeDef>();
        added->place = place_;
        added->package = &package_;
        added->name = words[1];
        added->is_kind = words[0] == "kind";
        added->description = std::exchange(description_, "");
        type_ = added.get();
        package_.types.push_back(std::move(added));
        add_type_attributes({words.begin() + 2, words.end()});
        continued_ = &Parser::add_type_attributes;
    }

    void add_type_attributes(const Words& words) {
        for (const std::string& word : words) {
            const auto [name, value] = split_attribute(word);
            if (std::find(TypeAttributes.begin(), TypeAttributes.end(), name) == TypeAttributes.end()) report("unknown attribute " + name);
            type_->attributes[name] = value;
        }
    }

    void parse_list(const Words& words) {
        if (words.size() != 4 || words[2] != "of" || words[3] != "string") return report("expected: list NAME of string");
        auto added = std::make_unique<TypeDef>();
        added->place = place_;
        added->package = &package_;
        added->name = words[1];
        added->string_list = true;
        package_.types.push_back(std::move(added));
    }

    void parse_member(const Words& words, const std::string& text) {
        if (service_) return parse_method(words);
        if (!type_) return report("this line belongs to no kind or type");
        if (words[0] == "verbs") {
            type_->verbs = Words(words.begin() + 1, words.end());
        } else if (words[0] == "subresource") {
            if (words.size() != 4) return report("expected: subresource NAME KIND VERB,VERB");
            type_->subresources.push_back({words[1], words[2], split_list(words[3])});
        } else if (words[0] == "column") {
            parse_column(words, text);
        } else {
            parse_field(words);
        }
    }

    void parse_method(const Words& words) {
        if (words[0] != "rpc" || words.size() < 4) return report("expected: rpc NAME REQUEST RESPONSE");
        Method added{words[1], words[2], words[3], false, false};
        for (std::size_t i = 4; i < words.size(); ++i) {
            if (words[i] == "stream")
                added.server_stream = true;
            else if (words[i] == "client-stream")
                added.client_stream = true;
            else
                report("unknown word " + words[i]);
        }
        service_->methods.push_back(std::move(added));
    }

    void parse_column(const Words& words, const std::string& text) {
        const std::size_t equals = text.find(" = ");
        if (words.size() < 5 || equals == std::string::npos) return report("expected: column NAME TYPE = CELL");
        Column added{place_, words[1], words[2], "", text.substr(equals + 3), false};
        for (std::size_t i = 3; words[i] != "="; ++i) {
            const auto [name, value] = split_attribute(words[i]);
            if (name == "wide")
                added.wide = true;
            else if (name == "format")
                added.format = value;
            else
                report("unknown attribute " + name);
        }
        type_->columns.push_back(std::move(added));
    }

    void parse_field(const Words& words) {
        if (words.size() < 3) return report("expected: NUMBER NAME TYPE");
        Field added;
        added.place = place_;
        added.description = std::exchange(description_, "");
        const std::string& number = words[0];
        if (number != "-") {
            const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), added.number);
            if (error != std::errc() || end != number.data() + number.size() || added.number == 0)
                return report("expected a field number, found " + number);
        }
        added.inlined = words[1] == "inline";
        added.name = added.inlined ? "" : words[1];
        parse_field_type(words[2], added);
        for (std::size_t i = 3; i < words.size(); ++i) {
            const auto [name, value] = split_attribute(words[i]);
            if (std::find(FieldAttributes.begin(), FieldAttributes.end(), name) == FieldAttributes.end())
                report("unknown attribute " + name);
            added.attributes[name] = value;
        }
        type_->fields.push_back(std::move(added));
    }

    static void parse_field_type(std::string text, Field& field) {
        if (text.starts_with("map<") && text.ends_with(">")) {
            field.shape = Shape::Map;
            text = text.substr(4, text.size() - 5);
        } else if (text.ends_with("[]")) {
            field.shape = Shape::List;
            text.resize(text.size() - 2);
        } else if (text.ends_with("?")) {
            field.pointer = true;
            text.pop_back();
        }
        field.type = text;
    }

    Package& package_;
    Diagnostics& diagnostics_;
    Place place_;
    std::string description_;
    TypeDef* type_ = nullptr;
    Service* service_ = nullptr;
    void (Parser::*continued_)(const Words&) = nullptr;
};

}  // namespace

bool is_scalar(const std::string& type) {
    static constexpr std::array scalars = {"bool",     "int32",       "int64", "uint32",    "uint64",   "double",       "string",   "bytes",
                                           "Quantity", "IntOrString", "Time",  "MicroTime", "Duration", "RawExtension", "FieldsV1", "JSON"};
    return std::find(scalars.begin(), scalars.end(), type) != scalars.end();
}

void Diagnostics::add(const Place& place, const std::string& what) {
    lines_.push_back(fmt::format("{}:{}: {}", place.file, place.line, what));
}

std::unique_ptr<Package> parse_package(const std::string& file, const std::string& text, Diagnostics& diagnostics) {
    auto package = std::make_unique<Package>();
    package->file = file;
    Parser parser(*package, diagnostics);
    std::stringstream stream(text);
    int number = 0;
    for (std::string line; std::getline(stream, line);) parser.parse_line(line, ++number);
    if (package->directory.empty()) diagnostics.add({file, 1}, "the first line must be: package DIRECTORY/VERSION ...");
    return package;
}

}  // namespace porthole::schemac
