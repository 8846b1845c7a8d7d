#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/checker/cost.h"
#include "cel/program.h"
#include "cel/syntax/issues.h"
#include "cel/values/type.h"

namespace porthole::cel {

/// A minor version of Kubernetes 1.x: which libraries expressions may use (see library/libraries.h).
struct Compatibility {
    int minor;
};

/// Limits of an expression for its compiler. Upstream has the first two, and does not count nodes.
struct CompileLimits {
    std::size_t code_points = 100'000;
    std::size_t depth = 250;     ///< of nested expressions
    std::size_t nodes = 20'000;  ///< of the tree with expanded macros: some double at each level, and a node takes a kilobyte
};

/// Declared variables, types and libraries, against which expressions are checked.
///
/// Immutable once built, and cheap to copy. Programs keep it alive. Thread-safe.
///
///     ObjectTypes types;  // ... declare from a schema
///     auto environment = Environment::kubernetes({.minor = 37}).with_types(types).with_variable("self", type);
///     auto program = environment.compile("self.replicas <= self.maxReplicas");
///     if (!program) ... program.error().to_string();   // ERROR: <input>:1:6: undefined field 'replicas' ...
///     const Evaluation result = program->evaluate(Activation().set("self", Value::of(object, type.get())), {.cost_limit = 1'000'000});
class Environment {
public:
    /// Kubernetes' dialect at a version, without variables.
    static Environment kubernetes(Compatibility compatibility);
    /// The same with the libraries that upstream's dialect leaves out: math, encoders, bindings.
    static Environment extended(Compatibility compatibility);

    Environment with_variable(std::string name, TypeRef type) const;
    /// Object types by name, for expressions that construct objects (`Object.spec{...}`, `JSONPatch{...}`). The types are shared, not
    /// copied.
    Environment with_types(std::shared_ptr<const ObjectTypes> types) const;
    /// Names in expressions are looked up in this container first ("a.b": a.b.x, a.x, x).
    Environment with_container(std::string container) const;
    Environment with_limits(CompileLimits limits) const;
    /// Lists and maps written in an expression may mix types of elements: the language's default, which Kubernetes switches off.
    Environment with_mixed_literals() const;

    /// Parses, checks and plans. The issues are upstream's, with their positions.
    CompileResult<Program> compile(std::string_view expression) const;
    /// The same for one of several expressions that share limits: nodes count as steps, and so do similarly expensive operations.
    CompileResult<Program> compile(std::string_view expression, Work& work) const;
    /// Without checking: every variable is dyn. Only for tests of the language: the product checks every expression.
    CompileResult<Program> compile_unchecked(std::string_view expression) const;

    struct State;

private:
    friend Environment make_environment(Compatibility compatibility, bool extended);
    explicit Environment(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    CompileResult<Program> compile(std::string_view expression, bool checked, Work& work) const;
    std::shared_ptr<const State> state_;
};

}  // namespace porthole::cel
