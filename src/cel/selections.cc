#include <algorithm>

#include "cel/plan.h"

namespace porthole::cel {
namespace {

/// The walk of one program's tree.
struct SelectionSearch {
    std::string variable;  ///< as the checker names a global one: ".claims"
    std::string_view field;

    bool is_variable(const Expression& node) const { return node.is(ExpressionKind::Identifier) && node.name == variable; }

    bool is_selection(const Expression& node) const {
        if (node.is(ExpressionKind::Select)) return node.name == field && is_variable(*node.target);
        return node.is_call(operators::OptionalSelect) && node.arguments.size() == 2 && is_variable(*node.arguments[0]) &&
               node.arguments[1]->literal.is(Kind::String) && node.arguments[1]->literal.as_text() == field;
    }

    bool found_in(const ExpressionPtr& node) const {
        if (!node) return false;
        const auto in = [this](const ExpressionPtr& child) { return found_in(child); };
        if (is_selection(*node) || in(node->target)) return true;
        if (std::ranges::any_of(node->arguments, in) || std::ranges::any_of(node->keys, in)) return true;
        const Comprehension* loop = node->loop.get();
        return loop && (in(loop->range) || in(loop->initial) || in(loop->condition) || in(loop->step) || in(loop->result));
    }
};

}  // namespace

bool Program::selects_field(std::string_view variable, std::string_view field) const {
    return SelectionSearch{"." + std::string(variable), field}.found_in(plan_->expression);
}

}  // namespace porthole::cel
