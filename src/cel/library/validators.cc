#include "cel/library/validators.h"

#include "base/regex.h"
#include "base/time/time.h"

namespace porthole::cel {
namespace {

bool is_valid(const Expression& call, const Expression& argument) {
    if (!argument.is(ExpressionKind::Literal) || !argument.literal.is(Kind::String)) return true;
    const std::string_view text = argument.literal.as_text();
    if (call.name == "duration") return parse_duration(text).has_value();
    if (call.name == "timestamp") return Moment::parse(text).has_value();
    return Regex::compile(text).has_value();
}

void validate_call(const Expression& call, Issues& issues) {
    const bool converts = (call.name == "duration" || call.name == "timestamp") && !call.target && call.arguments.size() == 1;
    const bool matches = call.name == "matches" && call.arguments.size() + (call.target ? 1 : 0) == 2;
    if (!converts && !matches) return;
    const Expression& argument = *call.arguments.back();
    if (!is_valid(call, argument)) issues.add(argument.location, "invalid " + call.name + " argument");
}

}  // namespace

void validate_literals(const Expression& node, Issues& issues) {
    if (node.is(ExpressionKind::Call)) validate_call(node, issues);
    if (node.target) validate_literals(*node.target, issues);
    for (const ExpressionPtr& argument : node.arguments) validate_literals(*argument, issues);
    for (const ExpressionPtr& key : node.keys) validate_literals(*key, issues);
    if (!node.loop) return;
    for (const ExpressionPtr* part : {&node.loop->range, &node.loop->initial, &node.loop->condition, &node.loop->step, &node.loop->result})
        validate_literals(**part, issues);
}

}  // namespace porthole::cel
