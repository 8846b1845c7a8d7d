#include "cel/syntax/parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "cel/syntax/lexer.h"

namespace porthole::cel {
namespace {

constexpr const char* ExpectedOperand =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
constexpr const char* ExpectedOperator =
    "{<EOF>, '==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '?', '+', '*', '/', '%'}";

struct Binary {
    std::string_view sign;
    const char* function;
};
constexpr Binary Relations[] = {{"<", operators::Less},    {"<=", operators::LessEquals}, {">=", operators::GreaterEquals},
                                {">", operators::Greater}, {"==", operators::Equals},     {"!=", operators::NotEquals},
                                {"in", operators::In}};
constexpr Binary Sums[] = {{"+", operators::Add}, {"-", operators::Subtract}};
constexpr Binary Products[] = {{"*", operators::Multiply}, {"/", operators::Divide}, {"%", operators::Modulo}};

/// Recursive descent, one function for each rule of the grammar. After an issue it stops: `failed_` makes every function return quickly.
class Parser {
public:
    Parser(std::string_view source, const std::vector<Macro>& macros, const ParseLimits& limits, Issues& issues)
        : macros_(macros), limits_(limits), issues_(issues), tokens_(tokenize(source, issues)) {}

    ExpressionPtr run() {
        ExpressionPtr expression = parse_expression();
        if (!failed_ && !peek().is(TokenKind::End)) unexpected(ExpectedOperator);
        return failed_ || !issues_.empty() ? nullptr : std::move(expression);
    }
    std::size_t nodes() const { return nodes_; }

private:
    const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    const Token& take() {
        const Token& token = peek();
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    bool accept(std::string_view sign) {
        if (!peek().is(sign)) return false;
        take();
        return true;
    }
    void expect(std::string_view sign) {
        if (!failed_ && !accept(sign)) unexpected("'" + std::string(sign) + "'");
    }

    ExpressionPtr fail(Location location, std::string message) {
        if (!failed_) issues_.add(location, std::move(message));
        failed_ = true;
        return std::make_unique<Expression>();
    }
    ExpressionPtr unexpected(std::string expected) {
        const Token& token = peek();
        return fail(token.location, "Syntax error: mismatched input '" + std::string(token.text) + "' expecting " + expected);
    }

    NodeMaker maker(Location location) { return NodeMaker(location, nodes_, limits_.nodes, issues_); }
    ExpressionPtr node(ExpressionKind kind, Location location) {
        if (nodes_ > limits_.nodes) failed_ = true;
        return maker(location).node(kind);
    }
    ExpressionPtr limited(ExpressionPtr expression) {
        if (expression->depth > limits_.depth) return fail({}, "max recursion depth exceeded");
        return expression;
    }

    ExpressionPtr parse_expression() {
        if (failed_) return std::make_unique<Expression>();
        if (++nesting_ > limits_.depth) return fail({}, "expression recursion limit exceeded: " + std::to_string(limits_.depth));
        ExpressionPtr expression = parse_or();
        if (peek().is("?") && !failed_) {
            const Location location = take().location;
            ExpressionPtr yes = parse_or();
            expect(":");
            ExpressionPtr no = parse_expression();
            expression = limited(maker(location).call(operators::Conditional, std::move(expression), std::move(yes), std::move(no)));
        }
        --nesting_;
        return expression;
    }

    /// `&&` and `||` are associative: a balanced tree keeps long chains shallow, as upstream has it.
    ExpressionPtr parse_chain(std::string_view sign, const char* function, ExpressionPtr (Parser::*operand)()) {
        std::vector<ExpressionPtr> terms;
        std::vector<Location> signs;
        terms.push_back((this->*operand)());
        while (!failed_ && peek().is(sign)) {
            signs.push_back(take().location);
            terms.push_back((this->*operand)());
        }
        return signs.empty() ? std::move(terms.front()) : balanced(terms, signs, function, 0, signs.size() - 1);
    }
    /// Of the signs `from` to `to` and the terms around them.
    ExpressionPtr balanced(std::vector<ExpressionPtr>& terms, const std::vector<Location>& signs, const char* function, std::size_t from,
                           std::size_t to) {
        const std::size_t middle = (from + to + 1) / 2;
        ExpressionPtr left = middle == from ? std::move(terms[middle]) : balanced(terms, signs, function, from, middle - 1);
        ExpressionPtr right = middle == to ? std::move(terms[middle + 1]) : balanced(terms, signs, function, middle + 1, to);
        return maker(signs[middle]).call(function, std::move(left), std::move(right));
    }
    ExpressionPtr parse_or() { return parse_chain("||", operators::Or, &Parser::parse_and); }
    ExpressionPtr parse_and() { return parse_chain("&&", operators::And, &Parser::parse_relation); }

    template <std::size_t Count>
    const char* function_of(const Binary (&table)[Count]) const {
        const Token& token = peek();
        if (!token.is(TokenKind::Operator) && !token.is(TokenKind::In)) return nullptr;
        const auto found = std::ranges::find(table, token.text, &Binary::sign);
        return found == std::end(table) ? nullptr : found->function;
    }
    template <std::size_t Count>
    ExpressionPtr parse_binary(const Binary (&table)[Count], ExpressionPtr (Parser::*operand)()) {
        ExpressionPtr left = (this->*operand)();
        while (const char* function = failed_ ? nullptr : function_of(table)) {
            const Location location = take().location;
            ExpressionPtr right = (this->*operand)();
            left = limited(maker(location).call(function, std::move(left), std::move(right)));
        }
        return left;
    }
    ExpressionPtr parse_relation() { return parse_binary(Relations, &Parser::parse_sum); }
    ExpressionPtr parse_sum() { return parse_binary(Sums, &Parser::parse_product); }
    ExpressionPtr parse_product() { return parse_binary(Products, &Parser::parse_unary); }

    bool starts_number(std::size_t ahead) const { return peek(ahead).is(TokenKind::Int) || peek(ahead).is(TokenKind::Double); }

    ExpressionPtr parse_unary() {
        if (failed_) return std::make_unique<Expression>();
        const bool is_not = peek().is("!");
        if (!is_not && (!peek().is("-") || starts_number(1))) return parse_member();
        const Location location = peek().location;
        const std::string_view sign = peek().text;
        bool odd = false;
        while (peek().is(sign) && !(sign == "-" && odd && starts_number(1))) {
            take();
            odd = !odd;
        }
        ExpressionPtr operand = parse_member();
        return odd ? maker(location).call(is_not ? operators::Not : operators::Negate, std::move(operand)) : std::move(operand);
    }

    ExpressionPtr parse_member() {
        ExpressionPtr expression = parse_primary();
        while (!failed_) {
            if (peek().is(".")) {
                expression = parse_dot(std::move(expression));
            } else if (peek().is("[")) {
                const Location location = take().location;
                const bool optional = accept("?");
                ExpressionPtr index = parse_expression();
                expect("]");
                expression = limited(
                    maker(location).call(optional ? operators::OptionalIndex : operators::Index, std::move(expression), std::move(index)));
            } else {
                break;
            }
        }
        return expression;
    }

    ExpressionPtr parse_dot(ExpressionPtr target) {
        const Location dot = take().location;
        const bool optional = accept("?");
        const Token name = peek();
        if (!name.is(TokenKind::Identifier) && !name.is(TokenKind::EscapedIdentifier)) return unexpected("IDENTIFIER");
        take();
        if (name.is(TokenKind::Identifier) && !optional && peek().is("(")) {
            const Location location = peek().location;
            return limited(make_call(location, std::string(name.text), std::move(target), parse_arguments()));
        }
        std::string field(name.is(TokenKind::Identifier) ? name.text : name.text.substr(1, name.text.size() - 2));
        if (optional) {
            ExpressionPtr literal = maker(name.location).literal(Value::string(std::move(field)));
            return limited(maker(dot).call(operators::OptionalSelect, std::move(target), std::move(literal)));
        }
        ExpressionPtr select = node(ExpressionKind::Select, dot);
        select->depth = target->depth + 1;
        select->target = std::move(target);
        select->name = std::move(field);
        return limited(std::move(select));
    }

    std::vector<ExpressionPtr> parse_arguments() {
        std::vector<ExpressionPtr> arguments;
        expect("(");
        if (!peek().is(")")) {
            do arguments.push_back(parse_expression());
            while (!failed_ && accept(","));
        }
        expect(")");
        return arguments;
    }

    ExpressionPtr make_call(Location location, std::string function, ExpressionPtr target, std::vector<ExpressionPtr> arguments) {
        if (failed_) return std::make_unique<Expression>();
        for (const Macro& macro : macros_) {
            if (macro.name != function || macro.is_member != (target != nullptr)) continue;
            if (macro.arguments >= 0 && macro.arguments != static_cast<int>(arguments.size())) continue;
            NodeMaker make = maker(location);
            ExpressionPtr expanded = macro.expand(make, std::move(target), std::move(arguments));
            failed_ = failed_ || !expanded || nodes_ > limits_.nodes;
            return expanded ? std::move(expanded) : std::make_unique<Expression>();
        }
        ExpressionPtr call = node(ExpressionKind::Call, location);
        call->name = std::move(function);
        if (target) call->depth = target->depth + 1;
        call->target = std::move(target);
        for (ExpressionPtr& argument : arguments) NodeMaker::add(*call, std::move(argument));
        return call;
    }

    ExpressionPtr parse_primary() {
        const Token token = peek();
        switch (token.kind) {
            case TokenKind::True:
            case TokenKind::False:
                take();
                return maker(token.location).literal(Value::boolean(token.is(TokenKind::True)));
            case TokenKind::Null:
                take();
                return maker(token.location).literal(Value());
            case TokenKind::Int:
            case TokenKind::Uint:
            case TokenKind::Double:
                return parse_number({}, token.location);
            case TokenKind::String:
            case TokenKind::Bytes:
                return parse_text();
            case TokenKind::Identifier:
                return parse_name();
            case TokenKind::Operator:
                if (token.text == "-" && starts_number(1)) {
                    take();
                    return parse_number("-", token.location);
                }
                if (token.text == "." && peek(1).is(TokenKind::Identifier)) return parse_name();
                if (token.text == "(") {
                    take();
                    ExpressionPtr inner = parse_expression();
                    expect(")");
                    return inner;
                }
                if (token.text == "[") return parse_list();
                if (token.text == "{") return parse_map();
                break;
            default:
                break;
        }
        return unexpected(ExpectedOperand);
    }

    ExpressionPtr parse_text() {
        const Token token = take();
        const bool is_bytes = token.is(TokenKind::Bytes);
        std::string value, mistake;
        if (!unquote(token.text, is_bytes, value, mistake)) return fail(token.location, mistake);
        return maker(token.location).literal(is_bytes ? Value::bytes(std::move(value)) : Value::string(std::move(value)));
    }

    ExpressionPtr parse_number(std::string_view sign, Location location) {
        const Token token = take();
        std::string text(token.text);
        if (token.is(TokenKind::Double)) {
            const double number = std::strtod((std::string(sign) + text).c_str(), nullptr);
            if (number > 1.7976931348623157e308 || number < -1.7976931348623157e308) return fail(location, "invalid double literal");
            return maker(location).literal(Value::real(number));
        }
        const bool is_uint = token.is(TokenKind::Uint);
        if (is_uint) text.pop_back();
        const int base = text.starts_with("0x") ? 16 : 10;
        if (base == 16) text.erase(0, 2);
        text.insert(0, sign);
        const char* end = text.data() + text.size();
        if (is_uint) {
            std::uint64_t number = 0;
            const auto read = std::from_chars(text.data(), end, number, base);
            if (read.ec != std::errc() || read.ptr != end) return fail(location, "invalid uint literal");
            return maker(location).literal(Value::unsigned_integer(number));
        }
        std::int64_t number = 0;
        const auto read = std::from_chars(text.data(), end, number, base);
        if (read.ec != std::errc() || read.ptr != end) return fail(location, "invalid int literal");
        return maker(location).literal(Value::integer(number));
    }

    /// `a`, `.a`, `f(x)`, `a.b.Type{field: 1}`.
    ExpressionPtr parse_name() {
        const Location start = peek().location;
        const std::string dot = accept(".") ? "." : "";
        std::size_t ahead = 1;
        while (peek(ahead).is(".") && peek(ahead + 1).is(TokenKind::Identifier)) ahead += 2;
        if (peek(ahead).is("{")) {
            std::string type = dot;
            for (std::size_t i = 0; i < ahead; ++i) type += take().text;
            return parse_object(std::move(type));
        }
        const Token name = take();
        if (is_reserved(name.text)) return fail(start, "reserved identifier: " + std::string(name.text));
        if (peek().is("(")) {
            const Location location = peek().location;
            return limited(make_call(location, dot + std::string(name.text), nullptr, parse_arguments()));
        }
        return maker(name.location).identifier(dot + std::string(name.text));
    }

    ExpressionPtr parse_list() {
        ExpressionPtr list = node(ExpressionKind::List, take().location);
        while (!failed_ && !peek().is("]")) {
            list->optional.push_back(accept("?"));
            NodeMaker::add(*list, parse_expression());
            if (!accept(",")) break;
        }
        expect("]");
        return list;
    }

    ExpressionPtr parse_map() {
        ExpressionPtr map = node(ExpressionKind::Map, take().location);
        while (!failed_ && !peek().is("}")) {
            map->optional.push_back(accept("?"));
            ExpressionPtr key = parse_expression();
            map->depth = std::max(map->depth, key->depth + 1);
            map->keys.push_back(std::move(key));
            map->entry_locations.push_back(peek().location);
            expect(":");
            NodeMaker::add(*map, parse_expression());
            if (!accept(",")) break;
        }
        expect("}");
        return map;
    }

    ExpressionPtr parse_object(std::string type) {
        ExpressionPtr object = node(ExpressionKind::Object, take().location);
        object->name = std::move(type);
        while (!failed_ && !peek().is("}")) {
            object->optional.push_back(accept("?"));
            const Token name = peek();
            if (!name.is(TokenKind::Identifier) && !name.is(TokenKind::EscapedIdentifier)) return unexpected("IDENTIFIER");
            take();
            object->fields.emplace_back(name.is(TokenKind::Identifier) ? name.text : name.text.substr(1, name.text.size() - 2));
            object->entry_locations.push_back(peek().location);
            expect(":");
            NodeMaker::add(*object, parse_expression());
            if (!accept(",")) break;
        }
        expect("}");
        return object;
    }

    const std::vector<Macro>& macros_;
    ParseLimits limits_;
    Issues& issues_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0, nesting_ = 0, nodes_ = 0;
    bool failed_ = false;
};

}  // namespace

std::string qualified_name(const Expression& expression) {
    if (expression.is(ExpressionKind::Identifier)) return expression.name;
    if (!expression.is(ExpressionKind::Select) || expression.is_test) return {};
    std::string name = qualified_name(*expression.target);
    return name.empty() ? name : name + "." + expression.name;
}

ExpressionPtr parse(std::string_view source, const std::vector<Macro>& macros, const ParseLimits& limits, Issues& issues, Work& work) {
    const std::uint64_t size = code_points(source);
    if (size > limits.code_points) {
        issues.add({}, "expression code point size exceeds limit: size: " + std::to_string(size) + ", limit " +
                           std::to_string(limits.code_points));
        return nullptr;
    }
    Parser parser(source, macros, limits, issues);
    ExpressionPtr parsed = parser.run();
    work.read(source.size());
    work.look(parser.nodes());
    return parsed;
}

}  // namespace porthole::cel
