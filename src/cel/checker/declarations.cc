#include "cel/checker/declarations.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"

namespace porthole::cel {
namespace {

/// Reads one declaration.
class DeclarationParser {
public:
    explicit DeclarationParser(std::string_view text) : rest_(text) {}

    Overload run() {
        Overload overload;
        overload.id = trim(until(" = "));
        split_name(signature_name(), overload);
        rest_.remove_prefix(1);
        while (!rest_.starts_with(")")) {
            overload.arguments.push_back(type());
            if (rest_.starts_with(", ")) rest_.remove_prefix(2);
        }
        rest_.remove_prefix(1);
        CHECK(rest_.starts_with(" -> "));
        rest_.remove_prefix(4);
        overload.result = type();
        CHECK(rest_.empty());
        overload.type_parameters.assign(parameters_.begin(), parameters_.end());
        return overload;
    }

    TypeRef run_type() {
        TypeRef parsed = type();
        CHECK(rest_.empty());
        return parsed;
    }

private:
    std::string_view until(std::string_view end) {
        const std::size_t at = rest_.find(end);
        CHECK(at != std::string_view::npos);
        const std::string_view taken = rest_.substr(0, at);
        rest_.remove_prefix(at + end.size());
        return taken;
    }
    /// Up to the `(` that opens the arguments: the one whose `)` comes directly before the arrow.
    std::string_view signature_name() {
        const std::size_t close = rest_.find(" -> ") - 1;
        std::size_t open = close;
        for (int depth = 0;; --open) {
            if (rest_[open] == ')') ++depth;
            if (rest_[open] == '(' && --depth == 0) break;
        }
        const std::string_view taken = rest_.substr(0, open);
        rest_.remove_prefix(open);
        return taken;
    }

    /// "list(A).indexOf", "string.find", "math.abs", "net.IP.family", "_+_".
    void split_name(std::string_view text, Overload& overload) {
        const std::size_t dot = text.rfind('.');
        const std::string_view before = dot == std::string_view::npos ? std::string_view() : text.substr(0, dot);
        if (text != "_?._" && !before.empty() && is_type(before)) {
            DeclarationParser target(before);
            overload.is_member = true;
            overload.arguments.push_back(target.type());
            for (const std::string& name : target.parameters_) add_parameter(name);
            text.remove_prefix(dot + 1);
        }
        overload.function = text;
    }
    static bool is_type(std::string_view text) {
        constexpr std::string_view Names[] = {"string", "bytes", "timestamp", "duration", "dyn", "int", "uint", "double"};
        return text.ends_with(')') || std::ranges::find(Names, text) != std::end(Names) || text.starts_with("kubernetes.") ||
               text.starts_with("net.");
    }

    void add_parameter(const std::string& name) {
        if (std::ranges::find(parameters_, name) == parameters_.end()) parameters_.push_back(name);
    }

    TypeRef type() {
        std::size_t size = 0;
        while (size < rest_.size() && !std::string_view("(),").contains(rest_[size])) ++size;
        const std::string name(rest_.substr(0, size));
        rest_.remove_prefix(size);
        std::vector<TypeRef> parameters;
        if (rest_.starts_with("(")) {
            rest_.remove_prefix(1);
            for (;;) {
                parameters.push_back(type());
                if (!rest_.starts_with(", ")) break;
                rest_.remove_prefix(2);
            }
            CHECK(rest_.starts_with(")"));
            rest_.remove_prefix(1);
        }
        return named(name, std::move(parameters));
    }

    TypeRef named(const std::string& name, std::vector<TypeRef> parameters) {
        if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
            add_parameter(name);
            return types::parameter(name);
        }
        if (name == "list") return types::list(parameters[0]);
        if (name == "map") return types::map(parameters[0], parameters[1]);
        if (name == "optional") return types::optional(parameters[0]);
        if (name == "type") return types::type_of(parameters.empty() ? nullptr : parameters[0]);
        const std::pair<const char*, TypeRef (*)()> plain[] = {
            {"bool", types::boolean},   {"int", types::integer}, {"uint", types::unsigned_integer}, {"double", types::real},
            {"string", types::string},  {"bytes", types::bytes}, {"timestamp", types::timestamp},   {"duration", types::duration},
            {"null_type", types::null}, {"dyn", types::dyn},
        };
        for (const auto& [word, make] : plain) {
            if (name == word) return make();
        }
        return types::opaque(name);
    }

    std::string_view rest_;
    std::vector<std::string> parameters_;
};

bool fits(const Value& value, const Type& type) {
    switch (type.kind) {
        case TypeKind::Dyn:
        case TypeKind::Parameter:
            return true;
        case TypeKind::Null:
            return value.is(Kind::Null);
        case TypeKind::Bool:
            return value.is(Kind::Bool);
        case TypeKind::Int:
            return value.is(Kind::Int);
        case TypeKind::Uint:
            return value.is(Kind::Uint);
        case TypeKind::Double:
            return value.is(Kind::Double);
        case TypeKind::String:
            return value.is(Kind::String);
        case TypeKind::Bytes:
            return value.is(Kind::Bytes);
        case TypeKind::Timestamp:
            return value.is(Kind::Timestamp);
        case TypeKind::Duration:
            return value.is(Kind::Duration);
        case TypeKind::List:
            // As upstream, by the first item; a list of lists may hold others too (flatten).
            return value.is(Kind::List) &&
                   (value.count() == 0 || type.parameters[0]->is(TypeKind::List) || fits(value.item(0), *type.parameters[0]));
        case TypeKind::Map:
            return value.is(Kind::Map);
        case TypeKind::Object:
            return value.is(Kind::Object) || value.is(Kind::Map);
        case TypeKind::TypeType:
            return value.is(Kind::Type);
        case TypeKind::Opaque:
            return type.is_optional() ? value.is(Kind::Optional) : value.is(Kind::Opaque) && value.type()->name == type.name;
        case TypeKind::Error:
            break;
    }
    return false;
}

}  // namespace

Value Implementation::operator()(std::span<const Value> arguments, Work& work) const {
    if (counted_) return counted_(arguments, work);
    Value result = plain_(arguments);
    if (result.is(Kind::String) || result.is(Kind::Bytes)) work.make(result.as_text().size());
    if (result.is(Kind::List)) work.make(result.count() * sizeof(Value));
    return result;
}

bool Overload::accepts(std::span<const Value> values) const {
    return values.size() == arguments.size() &&
           std::ranges::equal(values, arguments, [](const Value& value, const TypeRef& type) { return fits(value, *type); });
}

TypeRef parse_type(std::string_view text) { return DeclarationParser(text).run_type(); }

void Functions::declare(std::string_view line, Implementation run) {
    Overload overload = DeclarationParser(line).run();
    overload.run = run;
    overloads_.push_back(std::move(overload));
    by_name_[overloads_.back().function].push_back(&overloads_.back());
}

const std::vector<const Overload*>* Functions::find(std::string_view function) const {
    const auto found = by_name_.find(function);
    return found == by_name_.end() ? nullptr : &found->second;
}

std::vector<std::string> Declarations::candidates(std::string_view name) const {
    if (name.starts_with('.')) return {std::string(name.substr(1))};
    std::vector<std::string> names;
    for (std::string prefix = container; !prefix.empty();) {
        names.push_back(prefix + "." + std::string(name));
        const std::size_t dot = prefix.rfind('.');
        prefix.resize(dot == std::string::npos ? 0 : dot);
    }
    names.emplace_back(name);
    return names;
}

}  // namespace porthole::cel
