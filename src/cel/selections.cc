#include <algorithm>
#include <optional>

#include "cel/plan.h"

namespace porthole::cel {
namespace {

/// Whether `holds(child)` for one of a node's.
template <class Holds>
bool any_child(const Expression& node, Holds holds) {
    const auto in = [&](const ExpressionPtr& child) { return child && holds(*child); };
    if (in(node.target) || std::ranges::any_of(node.arguments, in) || std::ranges::any_of(node.keys, in)) return true;
    const Comprehension* loop = node.loop.get();
    return loop && (in(loop->range) || in(loop->initial) || in(loop->condition) || in(loop->step) || in(loop->result));
}

/// The walk of one program's tree.
struct SelectionSearch {
    std::string variable;  ///< as the checker names a global one: ".claims"

    bool is_variable(const Expression& node) const { return node.is(ExpressionKind::Identifier) && node.name == variable; }

    /// The field of the variable that the node selects; nullopt for another node.
    std::optional<std::string_view> selected(const Expression& node) const {
        if (node.is(ExpressionKind::Select) && is_variable(*node.target)) return node.name;
        if (node.is_call(operators::OptionalSelect) && node.arguments.size() == 2 && is_variable(*node.arguments[0]) &&
            node.arguments[1]->literal.is(Kind::String))
            return node.arguments[1]->literal.as_text();
        return {};
    }

    bool finds_selection(const Expression& node, std::string_view field) const {
        return selected(node) == field || any_child(node, [&](const Expression& child) { return finds_selection(child, field); });
    }
    bool finds_whole(const Expression& node) const {
        if (is_variable(node)) return true;
        return !selected(node) && any_child(node, [&](const Expression& child) { return finds_whole(child); });
    }
};

}  // namespace

bool Program::selects_field(std::string_view variable, std::string_view field) const {
    return SelectionSearch{"." + std::string(variable)}.finds_selection(*plan_->expression, field);
}

bool Program::uses_whole(std::string_view variable) const {
    return SelectionSearch{"." + std::string(variable)}.finds_whole(*plan_->expression);
}

}  // namespace porthole::cel
