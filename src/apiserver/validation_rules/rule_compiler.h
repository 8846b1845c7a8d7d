#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/apiextensions_v1.h"
#include "cel/environment.h"
#include "cel/program.h"
#include "schema/value.h"

namespace porthole::apiserver {

using api::apiextensions::v1::ValidationRule;

/// Which libraries an expression may use.
enum class RuleDialect : std::uint8_t {
    New,     ///< those that the previous release also has, so that a server can be downgraded
    Stored,  ///< all: a stored definition stays valid
};

/// A compiled rule, or its error.
struct CompiledRule {
    std::optional<cel::Program> program;  ///< none if there is an error, or the rule has no text
    std::string error;                    ///< "compilation failed: ERROR: <input>:1:1: …"
    bool uses_old_self = false;
    std::optional<cel::Program> message;  ///< of messageExpression; none if there is none, or with an error
    std::string message_error;
};

/// The limits for compiling all rules of a schema (see expression_costs::Compilation).
inline constexpr cel::Work::Limits RuleCompilation = {.steps = 500'000, .bytes = std::uint64_t{1} << 20};

/// The environments for the rules of one place of a schema: the variables `self` and `oldSelf` have the type of the place. `work` is shared
/// with other places, and outlives this.
class RuleEnvironments {
public:
    RuleEnvironments(cel::TypeRef self, cel::Work& work) : self_(std::move(self)), work_(work) {}
    /// Created on first use; programs share it.
    const cel::Environment& get(RuleDialect dialect, bool optional_old_self);
    cel::Work& work() { return work_; }

private:
    cel::TypeRef self_;
    cel::Work& work_;
    std::optional<cel::Environment> made_[2][2];
};

CompiledRule compile_rule(const ValidationRule& rule, RuleEnvironments& environments, RuleDialect dialect, RuleDialect message_dialect);

/// The rules that a schema has at its top.
std::vector<ValidationRule> rules_of(const schema::Value& schema);

}  // namespace porthole::apiserver
