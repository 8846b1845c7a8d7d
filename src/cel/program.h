#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/checker/cost.h"
#include "cel/values/type.h"
#include "cel/values/value.h"

namespace porthole::cel {

/// The values of an environment's variables. What the values refer to must outlive the evaluation and its result.
class Activation {
public:
    Activation& set(std::string name, Value value);
    /// Evaluated at most once, at first use: what validating policies' `variables` are.
    Activation& set_lazy(std::string name, std::function<Value()> make);
    /// nullptr where there is none.
    const Value* find(std::string_view name) const;

private:
    struct Variable {
        std::string name;
        mutable Value value;
        mutable std::function<Value()> make;  ///< until it is evaluated
    };
    std::vector<Variable> variables_;
};

/// Bounds of one evaluation. The limit is in the units of checker/cost.h.
struct EvaluateOptions {
    std::uint64_t cost_limit = UINT64_MAX;
    /// How many values comparisons may look at. Costs count only the outermost list or map of those that are compared, so that time has no
    /// bound by them. Upstream ends what takes too long with its request.
    std::uint64_t work_limit = 20'000'000;
};

/// How an evaluation ended. `value` is an error (Value::is_error) where the expression failed.
struct Evaluation {
    Value value;
    std::uint64_t cost = 0;
    std::uint64_t work = 0;
    /// One of the limits ended it: "operation cancelled: actual cost limit exceeded".
    bool is_cancelled = false;
};

struct Plan;

/// A compiled expression. Immutable; copies share it. Thread-safe.
class Program {
public:
    explicit Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

    Evaluation evaluate(const Activation& activation, EvaluateOptions options = {}) const;

    /// The type that the checker found.
    const TypeRef& type() const;
    /// The least and the most that an evaluation costs, by the sizes that declared types allow.
    CostRange estimate_cost() const;
    /// Whether the expression reads the variable.
    bool uses_variable(std::string_view name) const;
    /// Whether the expression names a field of the variable: `claims.email`, `claims.?email` or `has(claims.email)`, not `claims["email"]`.
    bool selects_field(std::string_view variable, std::string_view field) const;
    /// Whether the expression uses the variable other than by naming a field of it: `claims == {}`, `[claims]`, `claims["email"]`.
    bool uses_whole(std::string_view variable) const;
    const std::string& text() const;

private:
    std::shared_ptr<const Plan> plan_;
};

}  // namespace porthole::cel
