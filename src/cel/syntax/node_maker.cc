#include "cel/syntax/parser.h"

namespace porthole::cel {
namespace {

void deepen(Expression& parent, const ExpressionPtr& child) {
    if (child) parent.depth = std::max(parent.depth, child->depth + 1);
}

}  // namespace

ExpressionPtr NodeMaker::node(ExpressionKind kind) {
    if (++nodes_ == most_ + 1) issues_.add({}, "expression has too many nodes");
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->location = location_;
    return made;
}

ExpressionPtr NodeMaker::literal(Value value) {
    ExpressionPtr made = node(ExpressionKind::Literal);
    made->literal = std::move(value);
    return made;
}

ExpressionPtr NodeMaker::identifier(std::string_view name) {
    ExpressionPtr made = node(ExpressionKind::Identifier);
    made->name = name;
    return made;
}

ExpressionPtr NodeMaker::list(ExpressionPtr item) {
    ExpressionPtr made = node(ExpressionKind::List);
    if (item) add(*made, std::move(item));
    return made;
}

ExpressionPtr NodeMaker::empty_map() { return node(ExpressionKind::Map); }

ExpressionPtr NodeMaker::test(ExpressionPtr target, std::string field) {
    ExpressionPtr made = node(ExpressionKind::Select);
    deepen(*made, target);
    made->target = std::move(target);
    made->name = std::move(field);
    made->is_test = true;
    return made;
}

ExpressionPtr NodeMaker::member_call(std::string_view function, ExpressionPtr target) {
    ExpressionPtr made = node(ExpressionKind::Call);
    made->name = function;
    deepen(*made, target);
    made->target = std::move(target);
    return made;
}

ExpressionPtr NodeMaker::loop(Comprehension parts) {
    ExpressionPtr made = node(ExpressionKind::Comprehension);
    for (const ExpressionPtr* part : {&parts.range, &parts.initial, &parts.condition, &parts.step, &parts.result}) deepen(*made, *part);
    made->loop = std::make_unique<Comprehension>(std::move(parts));
    return made;
}

ExpressionPtr NodeMaker::copy(const Expression& expression) {
    ExpressionPtr made = node(expression.kind);
    if (nodes_ > most_) return made;
    made->location = expression.location;
    made->depth = expression.depth;
    made->literal = expression.literal;
    made->name = expression.name;
    made->is_test = expression.is_test;
    made->fields = expression.fields;
    made->entry_locations = expression.entry_locations;
    made->optional = expression.optional;
    if (expression.target) made->target = copy(*expression.target);
    for (const ExpressionPtr& argument : expression.arguments) made->arguments.push_back(copy(*argument));
    for (const ExpressionPtr& key : expression.keys) made->keys.push_back(copy(*key));
    if (expression.loop) {
        const Comprehension& loop = *expression.loop;
        made->loop = std::make_unique<Comprehension>(Comprehension{loop.variable, loop.second_variable, loop.accumulator, copy(*loop.range),
                                                                   copy(*loop.initial), copy(*loop.condition), copy(*loop.step),
                                                                   copy(*loop.result)});
    }
    return made;
}

ExpressionPtr NodeMaker::fail(Location location, std::string message) {
    issues_.add(location, std::move(message));
    return nullptr;
}

void NodeMaker::add(Expression& call, ExpressionPtr argument) {
    deepen(call, argument);
    call.arguments.push_back(std::move(argument));
}

}  // namespace porthole::cel
