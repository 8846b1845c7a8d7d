#include "cel/checker/unification.h"

#include <algorithm>

namespace porthole::cel {
namespace {

bool is_wild(const Type& type) { return type.is(TypeKind::Dyn) || type.is(TypeKind::Error); }

bool takes_null(const Type& type) {
    switch (type.kind) {
        case TypeKind::Null:
        case TypeKind::Opaque:
        case TypeKind::Object:
        case TypeKind::Timestamp:
        case TypeKind::Duration:
            return true;
        default:
            return false;
    }
}

bool is_less_specific(const Type& left, const Type& right) {
    if (left.is(TypeKind::Dyn) || left.is(TypeKind::Parameter)) return true;
    if (right.is(TypeKind::Dyn) || right.is(TypeKind::Parameter) || left.kind != right.kind) return false;
    if (left.is(TypeKind::TypeType)) return true;
    if (left.parameters.empty()) return left == right;
    return left.name == right.name && std::ranges::equal(left.parameters, right.parameters,
                                                         [](const TypeRef& a, const TypeRef& b) { return is_less_specific(*a, *b); });
}

TypeRef replaced(const TypeRef& type, std::vector<TypeRef> parameters) {
    return type->parameters == parameters ? type : types::with_parameters(*type, std::move(parameters));
}

}  // namespace

TypeRef Unification::fresh() { return types::parameter("_var" + std::to_string(next_++)); }

template <class Compare>
bool Unification::transaction(Compare compare) {
    journal_.clear();
    if (compare()) return true;
    for (auto change = journal_.rbegin(); change != journal_.rend(); ++change) {
        if (change->second)
            bindings_[change->first] = change->second;
        else
            bindings_.erase(change->first);
    }
    return false;
}

bool Unification::is_assignable(const TypeRef& left, const TypeRef& right) {
    return transaction([&] { return assign(left, right); });
}
bool Unification::are_assignable(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right) {
    return transaction([&] { return assign_all(left, right); });
}

void Unification::set(const std::string& parameter, TypeRef type) {
    TypeRef& slot = bindings_[parameter];
    journal_.emplace_back(parameter, slot);
    slot = std::move(type);
}

bool Unification::assign(const TypeRef& left, const TypeRef& right) {
    if (!step()) return false;
    if (right->is(TypeKind::Parameter)) {
        const auto [valid, was_bound] = bind(left, right);
        if (valid) return true;
        if (was_bound) return false;
    }
    if (left->is(TypeKind::Parameter)) return bind(right, left).first;
    if (is_wild(*left) || is_wild(*right)) return true;
    if (left->is(TypeKind::Null)) return takes_null(*right);
    if (right->is(TypeKind::Null)) return takes_null(*left);
    switch (left->kind) {
        case TypeKind::TypeType:
            return right->is(TypeKind::TypeType);
        case TypeKind::Opaque:
        case TypeKind::List:
        case TypeKind::Map:
            return left->kind == right->kind && left->name == right->name && assign_all(left->parameters, right->parameters);
        default:
            return left->kind == right->kind && left->name == right->name;
    }
}

bool Unification::assign_all(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right) {
    return std::ranges::equal(left, right, [this](const TypeRef& a, const TypeRef& b) { return assign(a, b); });
}

std::pair<bool, bool> Unification::bind(const TypeRef& type, const TypeRef& parameter) {
    if (type->is(TypeKind::Parameter) && type->name == parameter->name) return {true, true};
    if (const auto found = bindings_.find(parameter->name); found != bindings_.end()) {
        const TypeRef bound = found->second;
        if (!step(std::min(type->size, bound->size))) return {false, true};
        if (*type == *bound) return {true, true};
        if (!assign(type, bound)) return {false, true};
        const TypeRef general = most_general(type, bound);
        if (!occurs(*parameter, *general)) set(parameter->name, general);
        return {true, true};
    }
    if (occurs(*parameter, *type)) return {false, false};
    set(parameter->name, type);
    return {true, false};
}

bool Unification::occurs(const Type& parameter, const Type& within) {
    if (!within.is_generic) return false;
    if (!step()) return true;
    if (within.is(TypeKind::Parameter)) {
        if (within.name == parameter.name) return true;
        const auto found = bindings_.find(within.name);
        return found != bindings_.end() && occurs(parameter, *found->second);
    }
    return std::ranges::any_of(within.parameters, [&](const TypeRef& inner) { return occurs(parameter, *inner); });
}

TypeRef Unification::substitute(const TypeRef& type, bool to_dyn) {
    if (!type->is_generic) return type;
    if (!step()) return types::error();
    if (type->is(TypeKind::Parameter)) {
        const auto found = bindings_.find(type->name);
        if (found == bindings_.end()) return to_dyn ? types::dyn() : type;
        return substitute(found->second, to_dyn);
    }
    std::vector<TypeRef> parameters;
    for (const TypeRef& parameter : type->parameters) parameters.push_back(substitute(parameter, to_dyn));
    TypeRef made = replaced(type, std::move(parameters));
    if (made->size <= LargestType) return made;
    steps_ = MostSteps + 1;
    return types::error();
}

TypeRef Unification::instantiate(const TypeRef& type, const std::map<std::string, TypeRef>& fresh_names) const {
    if (type->is(TypeKind::Parameter)) {
        const auto found = fresh_names.find(type->name);
        return found == fresh_names.end() ? type : found->second;
    }
    if (!type->is_generic) return type;
    std::vector<TypeRef> parameters;
    for (const TypeRef& parameter : type->parameters) parameters.push_back(instantiate(parameter, fresh_names));
    return replaced(type, std::move(parameters));
}

const TypeRef& Unification::most_general(const TypeRef& left, const TypeRef& right) {
    if (!step(std::min(left->size, right->size))) return left;
    return is_less_specific(*left, *right) ? left : right;
}

}  // namespace porthole::cel
