#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/expressions/expression.h"
#include "apiserver/request/user.h"
#include "base/result.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// A compiled expression of an AuthenticationConfiguration, over the token's claims (`claims`) or the resulting user (`user`). Two are
/// equal if their texts are: a field's expressions have the same variable in every configuration. Copies share the compiled program.
///
/// Differs from Kubernetes: an evaluation that costs more than a million units fails. Upstream has no limit.
class ClaimExpression {
public:
    // Error: BadRequest with upstream's message: "compilation failed: ...", "must evaluate to bool".
    static Result<ClaimExpression> mapping(const std::string& text);     ///< of claims to a value
    static Result<ClaimExpression> claim_rule(const std::string& text);  ///< a condition on claims
    static Result<ClaimExpression> user_rule(const std::string& text);   ///< a condition on the user

    const std::string& text() const { return expression_.text(); }
    /// Whether it names the claim by a selection: `claims.email`.
    bool names_claim(std::string_view claim) const { return expression_.program().selects_field("claims", claim); }
    bool operator==(const ClaimExpression& other) const { return text() == other.text(); }

    // `variable` is the claims, or user_variable(). Error: Unauthorized with what failed.
    /// A string. `field` is named in errors: "username".
    Result<std::string> text_of(const schema::Value& variable, std::string_view field) const;
    /// A string or a list of strings, without empty ones. null counts as an empty list.
    Result<std::vector<std::string>> texts_of(const schema::Value& variable) const;
    /// Success if the condition holds; otherwise `message` is the error.
    Result<void> check(const schema::Value& variable, const std::string& message) const;

private:
    explicit ClaimExpression(Expression expression) : expression_(std::move(expression)) {}

    Expression expression_;  ///< compiles
};

/// The variable `user` of expressions: username, uid, groups and extra, all of them present.
schema::Value user_variable(const User& user);

}  // namespace porthole::apiserver
