// Evaluates one request a line, for comparison with other implementations; README.md describes the form.
#include <iostream>
#include <string>

#include "base/base64.h"
#include "cel/checker/declarations.h"
#include "cel/environment.h"
#include "schema/json/json.h"

using namespace porthole;
using cel::Kind;
using Tree = schema::Value;

namespace {

cel::Value read_value(const Tree& tree);

std::vector<cel::Value> read_values(const Tree& list) {
    std::vector<cel::Value> values;
    for (const Tree& item : list.as_array()) values.push_back(read_value(item));
    return values;
}

/// {"int": "5"}: numbers as text, since JSON's are not exact.
cel::Value read_value(const Tree& tree) {
    const schema::Member& member = *tree.as_object().begin();
    const std::string& kind = member.key;
    const Tree& value = member.value;
    if (kind == "tree") return cel::Value::of(value);
    if (kind == "list") return cel::Value::list(read_values(value));
    if (kind == "bool") return cel::Value::boolean(value.as_bool());
    if (kind == "map") {
        std::vector<cel::Value::Entry> entries;
        for (const Tree& entry : value.as_array()) entries.emplace_back(read_value(entry.as_array()[0]), read_value(entry.as_array()[1]));
        return cel::Value::map(std::move(entries));
    }
    const std::string text(value.string_or(""));
    if (kind == "int") return cel::Value::integer(std::stoll(text));
    if (kind == "uint") return cel::Value::unsigned_integer(std::stoull(text));
    if (kind == "double") return cel::Value::real(std::stod(text));
    if (kind == "string") return cel::Value::string(text);
    if (kind == "bytes") return cel::Value::bytes(*decode_base64(text));
    if (kind == "duration") return cel::Value::duration(std::stoll(text));
    if (kind == "timestamp") return cel::Value::moment(cel::Moment::parse(text).value_or(cel::Moment{}));
    if (kind == "type") return cel::Value::type(cel::parse_type(text));
    return {};
}

Tree tagged(const char* kind, Tree value) { return Tree::object({{kind, std::move(value)}}); }

Tree write_value(const cel::Value& value) {
    switch (value.kind()) {
        case Kind::Null:
            return tagged("null", {});
        case Kind::Bool:
            return tagged("bool", value.as_bool());
        case Kind::Int:
            return tagged("int", value.to_string());
        case Kind::Uint:
            return tagged("uint", value.to_string());
        case Kind::Double:
            return tagged("double", value.to_string());
        case Kind::String:
            return tagged("string", value.as_text());
        case Kind::Bytes:
            return tagged("bytes", encode_base64(value.as_text()));
        case Kind::Timestamp:
            return tagged("timestamp", value.to_string());
        case Kind::Duration:
            return tagged("duration", std::to_string(value.as_nanos()));
        case Kind::Type:
            return tagged("type", value.to_string());
        case Kind::Optional:
            return tagged("optional", value.has_value() ? write_value(value.content()) : Tree());
        case Kind::Opaque:
            return tagged("opaque", value.to_string());
        case Kind::Error:
            return tagged("error", value.as_text());
        case Kind::List: {
            schema::Array items;
            for (std::size_t i = 0; i < value.count(); ++i) items.push_back(write_value(value.item(i)));
            return tagged("list", std::move(items));
        }
        default: {
            schema::Array entries;
            for (std::size_t i = 0; i < value.count(); ++i) {
                const auto [key, entry] = value.entry(i);
                entries.push_back(Tree::array({write_value(key), write_value(entry)}));
            }
            return tagged("map", std::move(entries));
        }
    }
}

Tree answer(const Tree& request) {
    auto environment = request.find("extended") ? cel::Environment::extended({.minor = 37}) : cel::Environment::kubernetes({.minor = 37});
    if (request.find("mixed")) environment = environment.with_mixed_literals();
    environment = environment.with_container(request.string_at({"container"}).data());
    cel::Activation activation;
    static const Tree none = Tree::array();
    const Tree* variables = request.find("variables");
    for (const Tree& variable : (variables ? *variables : none).as_array()) {  // values refer to the request
        const std::string name(variable.string_at({"name"}));
        const std::string type(variable.string_at({"type"}));
        if (!type.empty()) environment = environment.with_variable(name, cel::parse_type(type));
        if (const Tree* value = variable.find("value")) activation.set(name, read_value(*value));
    }
    const std::string expression(request.string_at({"expression"}));
    const auto program = request.find("unchecked") ? environment.compile_unchecked(expression) : environment.compile(expression);
    if (!program) return Tree::object({{"issues", program.error().to_string()}});
    const cel::Evaluation done = program->evaluate(activation);
    Tree result =
        Tree::object({{"value", write_value(done.value)}, {"cost", std::to_string(done.cost)}, {"type", program->type()->to_string()}});
    if (!request.find("unchecked")) {
        const cel::CostRange estimate = program->estimate_cost();
        result["least"] = std::to_string(estimate.min);
        result["most"] = std::to_string(estimate.max);
    }
    return result;
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const auto request = schema::parse_json(line);
        std::cout << (request ? schema::to_json(answer(*request)) : "{}") << std::endl;
    }
}
