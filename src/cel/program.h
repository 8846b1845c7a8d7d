#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/checker/cost.h"
#include "cel/values/type.h"
#include "cel/values/value.h"

namespace porthole::cel {

/// The values of an environment's variables. Everything that the values refer to must outlive the evaluation and its result.
class Activation {
public:
    Activation& set(std::string name, Value value);
    /// nullptr if there is none.
    const Value* find(std::string_view name) const;

private:
    std::vector<std::pair<std::string, Value>> variables_;
};

/// Bounds of one evaluation.
struct EvaluateOptions {
    static constexpr std::uint64_t WorkInUnit = 10, MostBytes = std::uint64_t{64} << 20;

    std::uint64_t cost_limit = UINT64_MAX;  ///< in the units of checker/cost.h
    /// Maximum steps of work; by default WorkInUnit for each unit of the cost limit. Upstream ends a long evaluation with its request.
    std::optional<std::uint64_t> work_limit = {};
    /// Work shared by several evaluations, including nested ones, with its own limits. Otherwise at most MostBytes may be created.
    Work* work = nullptr;
};

/// How an evaluation ended. `value` is an error (Value::is_error) where the expression failed.
struct Evaluation {
    Value value;
    std::uint64_t cost = 0;
    std::uint64_t work = 0;  ///< steps
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
    /// The least and the most that an evaluation costs, by the sizes that declared types allow. Of checked expressions.
    CostRange estimate_cost() const;
    /// Whether the expression reads the variable.
    bool uses_variable(std::string_view name) const;
    /// Whether the expression names a field of the variable: `claims.email`, `claims.?email` or `has(claims.email)`, not `claims["email"]`.
    bool selects_field(std::string_view variable, std::string_view field) const;
    const std::string& text() const;
    /// How deeply the expression is nested, which is how deep an evaluation recurses.
    std::size_t depth() const;

private:
    std::shared_ptr<const Plan> plan_;
};

}  // namespace porthole::cel
