#include "cel/library/validators.h"

#include "base/regex.h"
#include "base/time/time.h"
#include "cel/library/libraries.h"

namespace porthole::cel {
namespace {

bool is_valid(const Expression& call, const Expression& argument, Work& work) {
    if (!argument.is(ExpressionKind::Literal) || !argument.literal.is(Kind::String)) return true;
    const std::string_view text = argument.literal.as_text();
    if (call.name == "duration") return parse_duration(text).has_value();
    if (call.name == "timestamp") return Moment::parse(text).has_value();
    const auto pattern = Regex::compile(text);
    look_at_pattern(pattern, work);
    return pattern.has_value();
}

void validate_call(const Expression& call, Issues& issues, Work& work) {
    const bool converts = (call.name == "duration" || call.name == "timestamp") && !call.target && call.arguments.size() == 1;
    const bool matches = call.name == "matches" && call.arguments.size() + (call.target ? 1 : 0) == 2;
    if (!converts && !matches) return;
    const Expression& argument = *call.arguments.back();
    if (!is_valid(call, argument, work)) issues.add(argument.location, "invalid " + call.name + " argument");
}

template <class Visit>
void for_each_child(const Expression& node, Visit visit) {
    if (node.target) visit(*node.target);
    for (const ExpressionPtr& argument : node.arguments) visit(*argument);
    for (const ExpressionPtr& key : node.keys) visit(*key);
    if (!node.loop) return;
    for (const ExpressionPtr* part : {&node.loop->range, &node.loop->initial, &node.loop->condition, &node.loop->step, &node.loop->result})
        visit(**part);
}

/// Compares the type with the first entry's, which it sets where it is not yet.
bool is_same(const Expression& entry, bool is_optional, TypeRef& first, Issues& issues) {
    const TypeRef type = is_optional && entry.type->is_optional() ? entry.type->parameters[0] : entry.type;
    if (!first) first = type;
    if (*first == *type) return true;
    issues.add(entry.location, "expected type '" + first->to_string() + "' but found '" + type->to_string() + "'");
    return false;
}

}  // namespace

void validate_literals(const Expression& node, Issues& issues, Work& work) {
    if (work.is_used_up()) return;
    if (node.is(ExpressionKind::Call)) validate_call(node, issues, work);
    for_each_child(node, [&](const Expression& child) { validate_literals(child, issues, work); });
}

void validate_homogeneous(const Expression& node, Issues& issues) {
    if (node.is_call("format")) return;
    TypeRef first_key, first;
    for (std::size_t i = 0; i < node.arguments.size() && (node.is(ExpressionKind::List) || node.is(ExpressionKind::Map)); ++i) {
        if (node.is(ExpressionKind::Map)) is_same(*node.keys[i], false, first_key, issues);
        if (!is_same(*node.arguments[i], node.is_optional(i), first, issues) && node.is(ExpressionKind::List)) break;
    }
    for_each_child(node, [&](const Expression& child) { validate_homogeneous(child, issues); });
}

}  // namespace porthole::cel
