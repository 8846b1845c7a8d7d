#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/expression.h"
#include "cel/syntax/issues.h"

namespace porthole::cel {

class NodeMaker;

/// Replaces a call by another expression. `arguments` are the call's; `target` is nullptr for a global one. Returns nullptr, with an issue
/// added, where the arguments do not fit.
using MacroExpander = ExpressionPtr (*)(NodeMaker& make, ExpressionPtr target, std::vector<ExpressionPtr> arguments);

/// A call that is replaced while it is parsed.
struct Macro {
    std::string_view name;
    int arguments;  ///< -1: any number
    bool is_member;
    MacroExpander expand;
};

/// Limits of an expression: code points of text, nesting, and nodes after macro expansion.
struct ParseLimits {
    std::size_t code_points, depth, nodes;
};

/// The tree of `source`, with macros expanded; nullptr if there are issues. A node is a step of work.
ExpressionPtr parse(std::string_view source, const std::vector<Macro>& macros, const ParseLimits& limits, Issues& issues, Work& work);

/// "a.b.c" for nested selections of an identifier; "" for other trees.
std::string qualified_name(const Expression& expression);

/// Creates the nodes of one macro's expansion, all at the position of the call.
class NodeMaker {
public:
    NodeMaker(Location location, std::size_t& nodes, std::size_t most, Issues& issues)
        : location_(location), nodes_(nodes), most_(most), issues_(issues) {}

    ExpressionPtr literal(Value value);
    ExpressionPtr identifier(std::string_view name);
    ExpressionPtr accumulator() { return identifier(Accumulator); }
    ExpressionPtr list(ExpressionPtr item = nullptr);
    ExpressionPtr empty_map();
    ExpressionPtr test(ExpressionPtr target, std::string field);
    template <class... Arguments>
    ExpressionPtr call(std::string_view function, Arguments... arguments) {
        ExpressionPtr made = node(ExpressionKind::Call);
        made->name = function;
        (add(*made, std::move(arguments)), ...);
        return made;
    }
    ExpressionPtr member_call(std::string_view function, ExpressionPtr target);
    ExpressionPtr loop(Comprehension parts);
    ExpressionPtr copy(const Expression& expression);
    /// Adds the issue and returns nullptr.
    ExpressionPtr fail(Location location, std::string message);
    ExpressionPtr node(ExpressionKind kind);
    Location location() const { return location_; }

    static void add(Expression& call, ExpressionPtr argument);

private:
    Location location_;
    std::size_t& nodes_;
    std::size_t most_;
    Issues& issues_;
};

}  // namespace porthole::cel
