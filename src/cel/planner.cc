#include <algorithm>
#include <array>
#include <optional>

#include "cel/library/libraries.h"
#include "cel/plan.h"

namespace porthole::cel {
namespace {

/// Conversions of a constant are made when a program is, as upstream does: they cost nothing when it runs.
constexpr std::array<std::string_view, 10> Conversions = {"bool", "bytes",  "double",    "dyn",  "duration",
                                                          "int",  "string", "timestamp", "type", "uint"};

class Planner {
public:
    Planner(const Declarations& declarations, Plan& plan, Issues& issues, Work& work)
        : declarations_(declarations), plan_(plan), issues_(issues), work_(work) {}

    std::unique_ptr<Step> visit(const Expression& node) {
        switch (node.kind) {
            case ExpressionKind::Literal:
                return constant(node.literal);
            case ExpressionKind::Identifier:
                return identifier(node.name);
            case ExpressionKind::Select:
                return select(node);
            case ExpressionKind::Call:
                return call(node);
            case ExpressionKind::List:
                return list(node);
            case ExpressionKind::Map:
                return map(node);
            case ExpressionKind::Object:
                return object(node);
            case ExpressionKind::Comprehension:
                break;
        }
        return loop(node);
    }

private:
    static std::unique_ptr<Step> step(StepKind kind) {
        auto made = std::make_unique<Step>();
        made->kind = kind;
        return made;
    }
    static std::unique_ptr<Step> constant(Value value) {
        auto made = step(StepKind::Constant);
        made->constant = std::move(value);
        return made;
    }
    static bool is_constant(const StepPtr& child) { return child->kind == StepKind::Constant; }

    std::unique_ptr<Step> identifier(const std::string& name) {
        auto made = step(StepKind::Attribute);
        const auto local = std::find_if(locals_.rbegin(), locals_.rend(), [&](const auto& one) { return one.first == name; });
        if (local != locals_.rend()) {
            made->root = Root::Local;
            made->variable = local->second;
            return made;
        }
        for (const std::string& candidate : declarations_.candidates(name)) {
            if (declarations_.variables.contains(candidate)) return global(std::move(made), candidate);
            if (const auto type = declarations_.type_names.find(candidate); type != declarations_.type_names.end())
                return constant(Value::type(type->second));
            if (const ObjectType* object = declarations_.find_object(candidate)) return constant(Value::type(types::object(*object)));
        }
        return global(std::move(made), name.starts_with('.') ? name.substr(1) : name);
    }

    std::unique_ptr<Step> global(std::unique_ptr<Step> made, const std::string& name) {
        made->root = Root::Global;
        const auto found = std::ranges::find(plan_.globals, name);
        made->variable = static_cast<std::size_t>(found - plan_.globals.begin());
        if (found == plan_.globals.end()) plan_.globals.push_back(name);
        return made;
    }

    /// The step as the root of qualifiers.
    static std::unique_ptr<Step> attribute(std::unique_ptr<Step> operand) {
        if (operand->kind == StepKind::Attribute && !operand->is_test) return operand;
        auto made = step(StepKind::Attribute);
        made->root = Root::Operand;
        made->children.push_back(std::move(operand));
        return made;
    }

    std::unique_ptr<Step> select(const Expression& node) {
        auto made = attribute(visit(*node.target));
        Qualifier& qualifier = made->qualifiers.emplace_back();
        qualifier.key = Value::string(node.name);
        qualifier.is_test = made->is_test = node.is_test;
        return made;
    }

    std::unique_ptr<Step> index(const Expression& node, bool is_optional) {
        auto made = attribute(visit(*node.arguments[0]));
        auto key = visit(*node.arguments[1]);
        Qualifier& qualifier = made->qualifiers.emplace_back();
        qualifier.is_optional = is_optional;
        if (key->kind == StepKind::Constant)
            qualifier.key = key->constant;
        else
            qualifier.index = std::move(key);
        return made;
    }

    std::unique_ptr<Step> call(const Expression& node) {
        if (!node.target && node.arguments.size() == 2) {
            if (node.name == operators::Index) return index(node, false);
            if (node.name == operators::OptionalIndex || node.name == operators::OptionalSelect) return index(node, true);
        }
        auto made = step(StepKind::Call);
        if (node.target) made->children.push_back(visit(*node.target));
        for (const ExpressionPtr& argument : node.arguments) made->children.push_back(visit(*argument));
        made->function = node.name;
        made->overloads = node.overloads;
        if (made->overloads.empty()) resolve_unchecked(node, *made);
        const std::string_view overload = made->overloads.size() == 1 ? std::string_view(made->overloads[0]->id) : std::string_view();
        made->cost = cost_rule(made->function, overload);
        const std::size_t count = made->children.size();
        if (count == 2 && node.name == operators::And) made->kind = StepKind::And;
        if (count == 2 && node.name == operators::Or) made->kind = StepKind::Or;
        if (count == 2 && node.name == operators::Equals) made->kind = StepKind::Equal;
        if (count == 2 && node.name == operators::NotEquals) made->kind = StepKind::NotEqual;
        if (count == 3 && node.name == operators::Conditional) {
            made->kind = StepKind::Attribute;
            made->root = Root::Conditional;
        }
        if (node.target && count == 2 && node.name == "or") made->kind = StepKind::OptionalOr;
        if (node.target && count == 2 && node.name == "orValue") made->kind = StepKind::OptionalOrValue;
        return made->kind == StepKind::Call ? optimized(node, std::move(made), overload) : std::move(made);
    }

    /// For compile_unchecked(): the overloads by name and number of arguments.
    void resolve_unchecked(const Expression& node, Step& made) {
        if (node.target) {
            const std::string prefix = qualified_name(*node.target);
            if (!prefix.empty()) {
                for (const std::string& candidate : declarations_.candidates(prefix + "." + node.name)) {
                    if (const auto* found = declarations_.functions->find(candidate)) {
                        made.children.erase(made.children.begin());
                        made.function = candidate;
                        made.overloads = *found;
                        return;
                    }
                }
            }
        }
        for (const std::string& candidate : declarations_.candidates(node.name)) {
            if (const auto* found = declarations_.functions->find(candidate)) {
                made.function = candidate;
                made.overloads = *found;
                return;
            }
        }
    }

    std::unique_ptr<Step> optimized(const Expression& node, std::unique_ptr<Step> made, std::string_view overload) {
        if (overload == "in_list" && is_constant(made->children[1])) {
            if (auto set = membership(*made)) return set;
        }
        if (made->children.size() == 1 && is_constant(made->children[0]) &&
            std::ranges::find(Conversions, made->function) != Conversions.end())
            return converted(node, std::move(made));
        const bool takes_pattern = made->function == "matches" || made->function == "find" || made->function == "findAll";
        if (takes_pattern && made->children.size() >= 2 && is_constant(made->children[1]) && made->children[1]->constant.is(Kind::String)) {
            auto pattern = Regex::compile(made->children[1]->constant.as_text());
            look_at_pattern(pattern, work_);
            if (pattern)
                made->prepared = std::make_unique<PreparedCall>(*std::move(pattern));
            else
                issues_.add(node.location, pattern.error().message);
        }
        const bool accumulates = made->function == operators::Add || made->function == operators::MapInsert;
        if (accumulates && accumulator_ >= 0 && is_accumulator(*made->children[0]) &&
            (made->function == operators::MapInsert || node.arguments[1]->is(ExpressionKind::List)))
            made->accumulator = accumulator_;
        return made;
    }

    bool is_accumulator(const Step& child) const {
        return child.kind == StepKind::Attribute && child.root == Root::Local && child.qualifiers.empty() &&
               static_cast<std::ptrdiff_t>(child.variable) == accumulator_;
    }

    /// `x in [1, 2]`: a look-up, which costs nothing.
    static std::unique_ptr<Step> membership(Step& made) {
        const Value& list = made.children[1]->constant;
        if (!list.is(Kind::List)) return nullptr;
        if (list.count() == 0) return constant(Value::boolean(false));
        auto set = step(StepKind::InSet);
        Work work;  // of scalars that the expression has
        for (std::size_t i = 0; i < list.count(); ++i) {
            const Value item = list.item(i);
            if (!item.is(Kind::Bool) && !item.is_numeric() && !item.is(Kind::String) && !item.is(Kind::Null)) return nullptr;
            set->set.put(item, i, work);
        }
        set->children.push_back(std::move(made.children[0]));
        return set;
    }

    std::unique_ptr<Step> converted(const Expression& node, std::unique_ptr<Step> made) {
        const Value& argument = made->children[0]->constant;
        for (const Overload* overload : made->overloads) {
            if (overload->is_member || !overload->run || !overload->accepts({&argument, 1})) continue;
            Work work;
            Value value = overload->run({&argument, 1}, work);
            if (!value.is_error()) return constant(std::move(value));
            issues_.add(node.location, std::string(value.as_text()));
            return made;
        }
        return made;
    }

    std::unique_ptr<Step> list(const Expression& node) {
        auto made = step(StepKind::List);
        for (const ExpressionPtr& item : node.arguments) made->children.push_back(visit(*item));
        if (std::ranges::find(node.optional, true) != node.optional.end()) made->optional = node.optional;
        if (!std::ranges::all_of(made->children, is_constant) || !made->optional.empty()) return made;
        std::vector<Value> items;
        for (const StepPtr& child : made->children) items.push_back(child->constant);
        return constant(Value::list(std::move(items)));
    }

    std::unique_ptr<Step> map(const Expression& node) {
        auto made = step(StepKind::Map);
        for (std::size_t i = 0; i < node.keys.size(); ++i) {
            made->children.push_back(visit(*node.keys[i]));
            made->children.push_back(visit(*node.arguments[i]));
        }
        if (std::ranges::find(node.optional, true) != node.optional.end()) made->optional = node.optional;
        if (!std::ranges::all_of(made->children, is_constant) || !made->optional.empty()) return made;
        std::vector<Value::Entry> entries;
        for (std::size_t i = 0; i < made->children.size(); i += 2)
            entries.emplace_back(made->children[i]->constant, made->children[i + 1]->constant);
        return constant(Value::map(std::move(entries)));
    }

    std::unique_ptr<Step> object(const Expression& node) {
        auto made = step(StepKind::Object);
        made->type = node.type && node.type->object ? node.type : types::dyn();
        for (const std::string& candidate : declarations_.candidates(node.name)) {
            if (const ObjectType* found = declarations_.find_object(candidate)) made->type = types::object(*found);
        }
        made->fields = node.fields;
        made->optional = node.optional;
        for (const ExpressionPtr& value : node.arguments) made->children.push_back(visit(*value));
        return made;
    }

    std::unique_ptr<Step> loop(const Expression& node) {
        const Comprehension& loop = *node.loop;
        auto made = step(StepKind::Loop);
        made->has_two = !loop.second_variable.empty();
        made->children.push_back(visit(*loop.range));
        made->children.push_back(visit(*loop.initial));
        const std::size_t outside = locals_.size(), first = next_local_;
        const std::ptrdiff_t outer_accumulator = accumulator_;
        made->first_local = first;
        // Each loop has places of its own: an accumulator is first read, and its value made, within any other loop.
        next_local_ += 3;
        plan_.locals = next_local_;
        locals_.emplace_back(loop.accumulator, first);
        locals_.emplace_back(loop.variable, first + 1);
        if (made->has_two) locals_.emplace_back(loop.second_variable, first + 2);
        made->children.push_back(visit(*loop.condition));
        accumulator_ = static_cast<std::ptrdiff_t>(first);
        made->children.push_back(visit(*loop.step));
        accumulator_ = outer_accumulator;
        locals_.resize(outside + 1);
        made->children.push_back(visit(*loop.result));
        locals_.resize(outside);
        return made;
    }

    const Declarations& declarations_;
    Plan& plan_;
    Issues& issues_;
    Work& work_;
    std::vector<std::pair<std::string, std::size_t>> locals_;
    std::size_t next_local_ = 0;
    std::ptrdiff_t accumulator_ = -1;  ///< the local of the loop whose step is planned
};

}  // namespace

StepPtr make_plan(const Expression& expression, const Declarations& declarations, Plan& plan, Issues& issues, Work& work) {
    return Planner(declarations, plan, issues, work).visit(expression);
}

}  // namespace porthole::cel
