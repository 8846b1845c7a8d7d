#include "cel/checker/checker.h"

#include <algorithm>

#include "cel/checker/unification.h"
#include "cel/syntax/parser.h"

namespace porthole::cel {
namespace {

std::string signature_text(const std::vector<TypeRef>& arguments, bool is_member) {
    std::string text = is_member ? arguments.front()->to_string() + "." : "";
    text += "(";
    for (std::size_t i = is_member ? 1 : 0; i < arguments.size(); ++i) text += (text.back() == '(' ? "" : ", ") + arguments[i]->to_string();
    return text + ")";
}

/// Comparing types is quick beside making nodes.
constexpr std::uint64_t StepsInWork = 16;

class Checker {
public:
    Checker(const Declarations& declarations, Issues& issues) : declarations_(declarations), issues_(issues) {}

    void run(Expression& root, Work& work) {
        visit(root);
        finish(root);
        work.look(unification_.steps() / StepsInWork);
        if (unification_.is_exhausted()) issues_.add(root.location, "expression's types are too large");
    }

private:
    struct Resolved {
        std::string name;
        TypeRef type;
    };

    void fail(const Expression& at, std::string message) { issues_.add(at.location, std::move(message)); }
    void undeclared(Expression& at, const std::string& name) {
        fail(at, "undeclared reference to '" + name + "' (in container '" + declarations_.container + "')");
        at.type = types::error();
    }
    void mismatch(Location location, const TypeRef& expected, const TypeRef& found) {
        issues_.add(location, "expected type '" + expected->to_string() + "' but found '" + found->to_string() + "'");
    }

    void visit(Expression& node) {
        node.type = types::error();
        if (unification_.is_exhausted()) return;
        visit_kind(node);
        // Types double at each stage of `.map(a, {a: a})`.
        if (node.type->size > Unification::LargestType) {
            fail(node, "type is too large");
            node.type = types::error();
        }
    }

    void visit_kind(Expression& node) {
        switch (node.kind) {
            case ExpressionKind::Literal:
                node.type = node.literal.type();
                break;
            case ExpressionKind::Identifier:
                visit_identifier(node);
                break;
            case ExpressionKind::Select:
                visit_select(node);
                break;
            case ExpressionKind::Call:
                visit_call(node);
                break;
            case ExpressionKind::List:
                visit_list(node);
                break;
            case ExpressionKind::Map:
                visit_map(node);
                break;
            case ExpressionKind::Object:
                visit_object(node);
                break;
            case ExpressionKind::Comprehension:
                visit_loop(node);
                break;
        }
    }

    TypeRef find_local(std::string_view name) const {
        const auto found = std::find_if(locals_.rbegin(), locals_.rend(), [&](const Resolved& local) { return local.name == name; });
        return found == locals_.rend() ? nullptr : found->type;
    }

    std::optional<Resolved> find_global(std::string_view name) const {
        for (const std::string& candidate : declarations_.candidates(name)) {
            if (const auto variable = declarations_.variables.find(candidate); variable != declarations_.variables.end())
                return Resolved{candidate, variable->second};
            if (const auto type = declarations_.type_names.find(candidate); type != declarations_.type_names.end())
                return Resolved{candidate, types::type_of(type->second)};
            if (const ObjectType* object = declarations_.find_object(candidate))
                return Resolved{candidate, types::type_of(types::object(*object))};
        }
        return {};
    }

    /// A global one gets its full name with a dot before it, so that neither a local variable nor the container hides it.
    void become_variable(Expression& node, std::string name, TypeRef type) {
        node.kind = ExpressionKind::Identifier;
        node.is_variable = true;
        node.name = std::move(name);
        node.type = std::move(type);
        node.target.reset();
    }

    void visit_identifier(Expression& node) {
        if (TypeRef type = find_local(node.name)) return become_variable(node, node.name, std::move(type));
        if (auto found = find_global(node.name)) {
            return become_variable(node, "." + found->name, std::move(found->type));
        }
        undeclared(node, node.name);
    }

    void visit_select(Expression& node) {
        if (const std::string name = qualified_name(node); !name.empty()) {
            if (!find_local(name.substr(0, name.find('.', 1)))) {
                if (auto found = find_global(name)) return become_variable(node, "." + found->name, std::move(found->type));
            }
        }
        TypeRef type = field_type(node, *node.target, node.name, false);
        node.type = node.is_test ? types::boolean() : unification_.substitute(type, false);
    }

    TypeRef field_type(Expression& node, Expression& operand, const std::string& field, bool optional) {
        visit(operand);
        TypeRef target = unification_.substitute(operand.type, false);
        const bool is_optional = target->is_optional();
        if (is_optional) target = target->parameters[0];
        TypeRef result = types::error();
        switch (target->kind) {
            case TypeKind::Map:
                result = target->parameters[1];
                break;
            case TypeKind::Object:
                if (const ObjectField* found = target->object->find(field))
                    result = found->type;
                else
                    fail(node, "undefined field '" + field + "'");
                break;
            case TypeKind::Parameter:
                unification_.is_assignable(types::dyn(), target);
                result = types::dyn();
                break;
            default:
                if (!target->is_dyn() && !target->is(TypeKind::Error))
                    fail(node, "type '" + target->to_string() + "' does not support field selection");
                result = types::dyn();
        }
        return is_optional || optional ? types::optional(result) : result;
    }

    void visit_optional_select(Expression& node) {
        const Expression& field = *node.arguments[1];
        const TypeRef type = field_type(node, *node.arguments[0], std::string(field.literal.as_text()), true);
        node.arguments[1]->type = types::string();
        node.type = unification_.substitute(type, false);
        node.overloads = *declarations_.functions->find(operators::OptionalSelect);
    }

    const std::vector<const Overload*>* find_function(std::string& name) const {
        for (const std::string& candidate : declarations_.candidates(name)) {
            if (const auto* found = declarations_.functions->find(candidate)) {
                name = candidate;
                return found;
            }
        }
        return nullptr;
    }

    void visit_call(Expression& node) {
        if (node.is_call(operators::OptionalSelect) && !node.target && node.arguments.size() == 2 &&
            node.arguments[1]->is(ExpressionKind::Literal) && node.arguments[1]->literal.is(Kind::String))
            return visit_optional_select(node);
        for (const ExpressionPtr& argument : node.arguments) visit(*argument);
        if (node.target) {
            // `math.abs(x)` is a function of a namespace where there is one.
            std::string prefix = qualified_name(*node.target);
            if (!prefix.empty()) {
                std::string name = prefix + "." + node.name;
                if (const auto* found = find_function(name)) {
                    node.name = std::move(name);
                    node.target.reset();
                    return resolve(node, *found);
                }
            }
            visit(*node.target);
        }
        if (const auto* found = find_function(node.name)) return resolve(node, *found);
        undeclared(node, node.name);
    }

    void resolve(Expression& node, const std::vector<const Overload*>& overloads) {
        std::vector<TypeRef> arguments;
        if (node.target) arguments.push_back(node.target->type);
        for (const ExpressionPtr& argument : node.arguments) arguments.push_back(argument->type);
        if (node.name == operators::And || node.name == operators::Or) return resolve_logic(node, arguments, overloads);
        TypeRef result;
        for (const Overload* overload : overloads) {
            if (overload->is_member != (node.target != nullptr) || overload->arguments.size() != arguments.size()) continue;
            std::map<std::string, TypeRef> fresh;
            for (const std::string& parameter : overload->type_parameters) fresh.emplace(parameter, unification_.fresh());
            std::vector<TypeRef> wanted;
            for (const TypeRef& type : overload->arguments) wanted.push_back(unification_.instantiate(type, fresh));
            if (!unification_.are_assignable(arguments, wanted)) continue;
            node.overloads.push_back(overload);
            TypeRef type = unification_.substitute(unification_.instantiate(overload->result, fresh), false);
            if (!result)
                result = std::move(type);
            else if (!result->is_dyn() && !(*type == *result))
                result = types::dyn();
        }
        if (result) {
            node.type = std::move(result);
            return;
        }
        for (TypeRef& type : arguments) type = unification_.substitute(type, true);
        fail(node,
             "found no matching overload for '" + node.name + "' applied to '" + signature_text(arguments, node.target != nullptr) + "'");
        node.type = types::error();
    }

    void resolve_logic(Expression& node, const std::vector<TypeRef>& arguments, const std::vector<const Overload*>& overloads) {
        node.type = types::boolean();
        node.overloads = overloads;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (unification_.is_assignable(arguments[i], types::boolean())) continue;
            mismatch(node.arguments[i]->location, types::boolean(), arguments[i]);
            node.type = types::error();
        }
    }

    TypeRef join(const TypeRef& previous, const TypeRef& current) {
        if (!previous) return current;
        if (unification_.is_assignable(previous, current)) return unification_.most_general(previous, current);
        return types::dyn();
    }

    /// The type of an entry that is given as an optional.
    TypeRef unwrapped(const Expression& node, bool is_optional) {
        if (!is_optional) return node.type;
        if (node.type->is_optional()) return node.type->parameters[0];
        if (!node.type->is_dyn()) mismatch(node.location, types::optional(node.type), node.type);
        return node.type;
    }

    void visit_list(Expression& node) {
        TypeRef element;
        for (std::size_t i = 0; i < node.arguments.size(); ++i) {
            Expression& item = *node.arguments[i];
            visit(item);
            element = join(element, unwrapped(item, node.is_optional(i)));
        }
        node.type = types::list(element ? element : unification_.fresh());
    }

    void visit_map(Expression& node) {
        TypeRef key, value;
        for (std::size_t i = 0; i < node.arguments.size(); ++i) {
            visit(*node.keys[i]);
            key = join(key, node.keys[i]->type);
            visit(*node.arguments[i]);
            value = join(value, unwrapped(*node.arguments[i], node.is_optional(i)));
        }
        if (!key) {
            key = unification_.fresh();
            value = unification_.fresh();
        }
        node.type = types::map(key, value);
    }

    void visit_object(Expression& node) {
        const ObjectType* object = nullptr;
        for (const std::string& candidate : declarations_.candidates(node.name)) {
            object = declarations_.find_object(candidate);
            if (object) break;
        }
        if (!object) {
            if (const auto found = find_global(node.name)) {
                fail(node, found->type->is(TypeKind::TypeType) ? "'" + found->type->parameters[0]->name + "' is not a message type"
                                                               : "'" + found->type->name + "' is not a type");
                node.type = types::error();
            } else {
                undeclared(node, node.name);
            }
            return;
        }
        node.name = object->name;
        node.type = types::object(*object);
        for (std::size_t i = 0; i < node.arguments.size(); ++i) visit_field(node, i, *object);
    }

    void visit_field(Expression& node, std::size_t index, const ObjectType& object) {
        Expression& value = *node.arguments[index];
        visit(value);
        const TypeRef given = unwrapped(value, node.is_optional(index));
        const Location location = node.entry_locations[index];
        const ObjectField* field = object.find(node.fields[index]);
        if (!field) {
            issues_.add(location, "undefined field '" + node.fields[index] + "'");
        } else if (!unification_.is_assignable(field->type, given)) {
            issues_.add(location, "expected type of field '" + field->name + "' is '" + field->type->to_string() +
                                      "' but provided type is '" + given->to_string() + "'");
        }
    }

    void assert_type(const Expression& node, const TypeRef& type) {
        if (!unification_.is_assignable(type, node.type)) mismatch(node.location, type, node.type);
    }

    void visit_loop(Expression& node) {
        Comprehension& loop = *node.loop;
        visit(*loop.range);
        visit(*loop.initial);
        const TypeRef range = unification_.substitute(loop.range->type, false);
        const TypeRef accumulator = loop.initial->type;
        const bool has_two = !loop.second_variable.empty();
        TypeRef first = types::error(), second = types::error();
        switch (range->kind) {
            case TypeKind::List:
                first = has_two ? types::integer() : range->parameters[0];
                second = range->parameters[0];
                break;
            case TypeKind::Map:
                first = range->parameters[0];
                second = range->parameters[1];
                break;
            case TypeKind::Dyn:
            case TypeKind::Error:
            case TypeKind::Parameter:
                unification_.is_assignable(types::dyn(), range);
                first = second = types::dyn();
                break;
            default:
                fail(*loop.range,
                     "expression of type '" + range->to_string() + "' cannot be range of a comprehension (must be list, map, or dynamic)");
        }
        const std::size_t outside = locals_.size();
        locals_.push_back({loop.accumulator, accumulator});
        locals_.push_back({loop.variable, first});
        if (has_two) locals_.push_back({loop.second_variable, second});
        visit(*loop.condition);
        assert_type(*loop.condition, types::boolean());
        visit(*loop.step);
        assert_type(*loop.step, accumulator);
        locals_.resize(outside + 1);
        visit(*loop.result);
        locals_.resize(outside);
        node.type = unification_.substitute(loop.result->type, false);
    }

    /// Types become final; what is still open is dyn.
    void finish(Expression& node) {
        node.type = node.type ? unification_.substitute(node.type, true) : types::dyn();
        if (node.target) finish(*node.target);
        for (const ExpressionPtr& argument : node.arguments) finish(*argument);
        for (const ExpressionPtr& key : node.keys) finish(*key);
        if (!node.loop) return;
        for (const ExpressionPtr* part :
             {&node.loop->range, &node.loop->initial, &node.loop->condition, &node.loop->step, &node.loop->result})
            finish(**part);
    }

    const Declarations& declarations_;
    Issues& issues_;
    Unification unification_;
    std::vector<Resolved> locals_;
};

}  // namespace

void check(Expression& root, const Declarations& declarations, Issues& issues, Work& work) {
    Checker(declarations, issues).run(root, work);
}

}  // namespace porthole::cel
