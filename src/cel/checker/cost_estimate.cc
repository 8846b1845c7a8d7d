#include "cel/checker/cost_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "cel/checker/call_estimate.h"

namespace porthole::cel {
namespace {

using Path = std::vector<std::string>;

/// The sizes of a list's or map's keys (indices) and values.
struct EntrySize {
    bool is_list = false;
    SizeRange key, value;
};

struct LocalVariable {
    std::string name;
    Path path;
    std::optional<SizeRange> size;
    std::optional<EntrySize> entries;
};

bool is_scalar(const Type& type) {
    switch (type.kind) {
        case TypeKind::Bool:
        case TypeKind::Double:
        case TypeKind::Duration:
        case TypeKind::Int:
        case TypeKind::Timestamp:
        case TypeKind::Uint:
            return true;
        case TypeKind::Opaque:
            return type.is_optional() && is_scalar(*type.parameters[0]);
        default:
            return false;
    }
}

constexpr CostRange Empty = {UINT64_MAX, 0};

/// Walks the tree once; what is known of a node's size is kept by node.
class Estimator {
public:
    explicit Estimator(const Declarations& declarations) : declarations_(declarations) {}

    CostRange cost(const Expression& node) {
        switch (node.kind) {
            case ExpressionKind::Literal:
                return {};
            case ExpressionKind::Identifier:
                return identifier(node);
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
        return is_binding(*node.loop) ? binding(node) : loop(node);
    }

private:
    const LocalVariable* find_local(std::string_view name) const {
        const auto found = std::find_if(locals_.rbegin(), locals_.rend(), [&](const LocalVariable& one) { return one.name == name; });
        return found == locals_.rend() ? nullptr : &*found;
    }

    Path path_of(const Expression& node) const {
        if (node.is(ExpressionKind::Identifier)) {
            if (const LocalVariable* local = find_local(node.name)) return local->path;
        }
        const auto found = paths_.find(&node);
        return found == paths_.end() ? Path() : found->second;
    }

    static Path below(Path path, std::string step) {
        path.push_back(std::move(step));
        return path;
    }

    /// The bound that the declared type at the path has; nullopt where the path leads to none.
    std::optional<SizeRange> declared_size(const Path& path) const {
        if (path.empty()) return {};
        auto variable = declarations_.variables.find(path[0]);
        // Upstream's estimator of a custom resource's rules begins at `self` whatever is named: `int` in `type(self.a) == int` has its
        // size.
        if (variable == declarations_.variables.end()) variable = declarations_.variables.find("self");
        if (variable == declarations_.variables.end()) return {};
        const Type* type = variable->second.get();
        for (std::size_t i = 1; i < path.size(); ++i) {
            if (path[i] == "@items" || path[i] == "@values" || path[i] == "@keys") {
                if (type->parameters.empty()) return {};
                type = path[i] == "@keys" ? type->parameters.front().get() : type->parameters.back().get();
            } else {
                // A word of the language as a field's name has no size, as upstream.
                const Type* value = type->is(TypeKind::Map) ? type->parameters.back().get() : nullptr;
                if (value && value->is_any()) {
                    type = value;
                    continue;
                }
                if (!type->object || !type->object->fields.contains(path[i])) return {};
                type = type->object->find(path[i])->type.get();
            }
        }
        if (type->max_size == Type::Unbounded) return {};
        return SizeRange{0, type->max_size};
    }

    static std::optional<SizeRange> literal_size(const Expression& node) {
        if (node.is(ExpressionKind::List)) return SizeRange::fixed(node.arguments.size());
        if (node.is(ExpressionKind::Map)) return SizeRange::fixed(node.arguments.size());
        if (!node.is(ExpressionKind::Literal)) return {};
        return SizeRange::fixed(node.literal.size().value_or(1));
    }

    std::optional<SizeRange> size_of(const Expression& node) {
        if (const auto found = sizes_.find(&node); found != sizes_.end()) return found->second;
        if (const auto literal = literal_size(node)) return literal;
        if (const auto declared = declared_size(public_path(node))) {
            sizes_[&node] = *declared;
            return declared;
        }
        if (is_scalar(*node.type)) return SizeRange::fixed(1);
        if (node.is(ExpressionKind::Identifier)) {
            if (const LocalVariable* local = find_local(node.name)) return local->size;
        }
        return {};
    }
    SizeRange size_or_unknown(const Expression& node) { return size_of(node).value_or(SizeRange::unknown()); }

    /// Accumulators are not variables that a schema describes.
    Path public_path(const Expression& node) const {
        Path path = path_of(node);
        if (!path.empty() && path[0] == Accumulator) path.clear();
        return path;
    }

    std::optional<EntrySize> entries_of(const Expression& node) const {
        if (const auto found = entries_.find(&node); found != entries_.end()) return found->second;
        if (node.is(ExpressionKind::Identifier)) {
            if (const LocalVariable* local = find_local(node.name)) return local->entries;
        }
        return {};
    }
    static std::optional<EntrySize> united(const std::optional<EntrySize>& left, const std::optional<EntrySize>& right) {
        if (!left || !right) return {};
        return EntrySize{left->is_list, left->key.united(right->key), left->value.united(right->value)};
    }

    CostRange identifier(const Expression& node) {
        const LocalVariable* local = find_local(node.name);
        paths_[&node] = local ? local->path : Path{node.name.substr(node.name.starts_with('.') ? 1 : 0)};
        return CostRange::fixed(costs::Select);
    }

    CostRange select(const Expression& node) {
        CostRange sum = cost(*node.target);
        if (node.is_test) return sum;
        const TypeKind kind = node.target->type->kind;
        if (kind == TypeKind::Map || kind == TypeKind::Object || kind == TypeKind::Parameter) sum = sum + CostRange::fixed(costs::Select);
        paths_[&node] = below(path_of(*node.target), node.name);
        return sum;
    }

    CostRange call(const Expression& node) {
        if (node.name == "dyn" && node.arguments.size() == 1) {
            const Expression& argument = *node.arguments[0];
            const CostRange sum = cost(argument) + CostRange::fixed(1);
            copy_sizes(node, argument);
            return sum;
        }
        CostRange arguments;
        std::vector<CostRange> each;
        for (const ExpressionPtr& argument : node.arguments) {
            each.push_back(cost(*argument));
            arguments = arguments + each.back();
        }
        if (node.overloads.empty()) return {};
        CostRange sum;
        if (node.target) sum = cost(*node.target);
        CostRange all = Empty;
        std::optional<SizeRange> result;
        for (const Overload* overload : node.overloads) {
            const CallEstimate estimate = overload_cost(node, *overload, each, arguments);
            all = all.united(estimate.cost);
            if (estimate.size) result = result ? result->united(*estimate.size) : *estimate.size;
            if (overload->id == "index_list" || overload->id == "index_map") {
                const auto entries = entries_of(*node.arguments[0]);
                result = entries ? std::optional(entries->value) : std::nullopt;
                paths_[&node] = below(path_of(*node.arguments[0]), overload->id == "index_list" ? "@items" : "@values");
            }
            if (!result) result = size_of(node);
        }
        if (result) sizes_[&node] = *result;
        return sum + all;
    }

    SizeRange element_size(const Expression& list) {
        if (list.type->parameters.empty()) return SizeRange::unknown();
        const Path path = public_path(list);
        const auto declared = path.empty() ? std::nullopt : declared_size(below(path, "@items"));
        return declared.value_or(SizeRange::unknown());
    }

    CallEstimate overload_cost(const Expression& node, const Overload& overload, const std::vector<CostRange>& each,
                               const CostRange& arguments) {
        if (node.name == operators::And || node.name == operators::Or) return {{each[0].min, (each[0] + each[1]).max}, {}};
        if (node.name == operators::Conditional) {
            set_entries(node, united(entries_of(*node.arguments[1]), entries_of(*node.arguments[2])));
            return {each[0] + each[1].united(each[2]), size_or_unknown(*node.arguments[1]).united(size_or_unknown(*node.arguments[2]))};
        }
        std::vector<EstimatedArgument> given;
        if (node.target) given.push_back(argument(*node.target));
        for (const ExpressionPtr& one : node.arguments) given.push_back(argument(*one));
        if (overload.id == "add_list" || overload.id == "add_string" || overload.id == "add_bytes")
            set_entries(node, united(entries_of(*node.arguments[0]), entries_of(*node.arguments[1])));
        CallEstimate estimate = estimate_call(node.name, overload.id, node.target != nullptr, given);
        estimate.cost = estimate.cost + arguments;
        return estimate;
    }

    EstimatedArgument argument(const Expression& node) {
        EstimatedArgument made;
        made.size = size_or_unknown(node);
        made.type = node.type;
        made.element = element_size(node);
        if (node.is(ExpressionKind::Literal) && node.literal.is(Kind::Int)) made.constant = node.literal.as_int();
        return made;
    }

    void set_entries(const Expression& node, const std::optional<EntrySize>& entries) {
        if (entries) entries_[&node] = *entries;
    }
    void copy_sizes(const Expression& to, const Expression& from) {
        if (const auto size = size_of(from)) sizes_[&to] = *size;
        set_entries(to, entries_of(from));
    }

    CostRange list(const Expression& node) {
        CostRange sum;
        SizeRange item = Empty;
        if (node.arguments.empty()) item.min = 0;
        for (const ExpressionPtr& argument : node.arguments) {
            sum = sum + cost(*argument);
            item = item.united(size_or_unknown(*argument));
        }
        entries_[&node] = {true, SizeRange::fixed(1), item};
        return sum + CostRange::fixed(costs::List);
    }

    CostRange map(const Expression& node) {
        CostRange sum;
        EntrySize entries{false, Empty, Empty};
        if (node.arguments.empty()) entries.key.min = entries.value.min = 0;
        for (std::size_t i = 0; i < node.arguments.size(); ++i) {
            sum = sum + cost(*node.keys[i]) + cost(*node.arguments[i]);
            entries.key = entries.key.united(size_or_unknown(*node.keys[i]));
            entries.value = entries.value.united(size_or_unknown(*node.arguments[i]));
        }
        entries_[&node] = entries;
        return sum + CostRange::fixed(costs::Map);
    }

    CostRange object(const Expression& node) {
        CostRange sum;
        for (const ExpressionPtr& argument : node.arguments) sum = sum + cost(*argument);
        return sum + CostRange::fixed(costs::Object);
    }

    static bool is_binding(const Comprehension& loop) {
        return loop.range->is(ExpressionKind::List) && loop.range->arguments.empty() && loop.condition->is(ExpressionKind::Literal) &&
               loop.condition->literal.is(Kind::Bool) && !loop.condition->literal.as_bool() && loop.accumulator != "__result__";
    }

    void push_bound(const std::string& name, const Expression& value) {
        locals_.push_back({name, path_of(value), size_of(value), entries_of(value)});
    }

    CostRange binding(const Expression& node) {
        const Comprehension& loop = *node.loop;
        CostRange sum = cost(*loop.range) + cost(*loop.initial);
        push_bound(loop.accumulator, *loop.initial);
        sum = sum + cost(*loop.result);
        locals_.pop_back();
        copy_sizes(node, *loop.result);
        return sum;
    }

    enum class Variable { Key, Value, Single };
    void push_iteration(const std::string& name, const Expression& range, Variable which) {
        const auto entries = entries_of(range);
        const bool is_list = entries ? entries->is_list : range.type->is(TypeKind::List);
        if (which == Variable::Single) which = is_list ? Variable::Value : Variable::Key;
        LocalVariable local;
        local.name = name;
        if (which == Variable::Key) {
            local.path = below(path_of(range), is_list ? "@indices" : "@keys");
            if (entries) local.size = entries->key;
        } else {
            local.path = below(path_of(range), is_list ? "@items" : "@values");
            if (entries) local.size = entries->value;
        }
        locals_.push_back(std::move(local));
    }

    CostRange loop(const Expression& node) {
        const Comprehension& loop = *node.loop;
        CostRange sum = cost(*loop.range) + cost(*loop.initial);
        const std::size_t outside = locals_.size();
        push_bound(loop.accumulator, *loop.initial);
        if (loop.second_variable.empty()) {
            push_iteration(loop.variable, *loop.range, Variable::Single);
        } else {
            push_iteration(loop.variable, *loop.range, Variable::Key);
            push_iteration(loop.second_variable, *loop.range, Variable::Value);
        }
        const CostRange condition = cost(*loop.condition), step = cost(*loop.step);
        locals_.resize(outside + 1);
        sum = sum + cost(*loop.result);
        locals_.resize(outside);
        const SizeRange count = size_or_unknown(*loop.range);
        sum = sum + count * (step + condition);
        if (loop.initial->is(ExpressionKind::Literal)) {
            if (const auto size = size_of(*loop.initial)) sizes_[&node] = *size;
        } else if (loop.initial->is(ExpressionKind::List) || loop.initial->is(ExpressionKind::Map)) {
            sizes_[&node] = count;
            set_entries(node, entries_of(*loop.step));
        }
        return sum;
    }

    const Declarations& declarations_;
    std::vector<LocalVariable> locals_;
    std::unordered_map<const Expression*, Path> paths_;
    std::unordered_map<const Expression*, SizeRange> sizes_;
    std::unordered_map<const Expression*, EntrySize> entries_;
};

}  // namespace

CostRange estimate_cost(const Expression& checked, const Declarations& declarations) { return Estimator(declarations).cost(checked); }

}  // namespace porthole::cel
