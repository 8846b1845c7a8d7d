#include "cel/plan.h"

namespace porthole::cel {
namespace {

/// The checker names global variables with a dot before them.
bool is_variable(const Expression& node) { return node.is(ExpressionKind::Identifier) && node.name.starts_with('.'); }

}  // namespace

void find_selections(const Expression& node, std::set<std::string, std::less<>>& found) {
    if (node.is(ExpressionKind::Select) && is_variable(*node.target)) found.insert(node.target->name.substr(1) + "." + node.name);
    if (node.is_call(operators::OptionalSelect) && node.arguments.size() == 2 && is_variable(*node.arguments[0]) &&
        node.arguments[1]->literal.is(Kind::String))
        found.insert(node.arguments[0]->name.substr(1) + "." + std::string(node.arguments[1]->literal.as_text()));
    if (node.target) find_selections(*node.target, found);
    for (const ExpressionPtr& argument : node.arguments) find_selections(*argument, found);
    for (const ExpressionPtr& key : node.keys) find_selections(*key, found);
    if (!node.loop) return;
    for (const ExpressionPtr* part : {&node.loop->range, &node.loop->initial, &node.loop->condition, &node.loop->step, &node.loop->result})
        find_selections(**part, found);
}

bool Program::selects_field(std::string_view variable, std::string_view field) const {
    return plan_->selections.contains(std::string(variable) + "." + std::string(field));
}

}  // namespace porthole::cel
