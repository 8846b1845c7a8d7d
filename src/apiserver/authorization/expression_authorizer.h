#pragma once
#include <map>
#include <string>

#include "apiserver/authorization/authorizer.h"
#include "cel/library/authorizer.h"

namespace porthole::apiserver {

/// What the expressions of one request are told by their variable `authorizer`. Expressions cannot wait: an evaluation notes the questions
/// whose decision is not known yet, its result is worth nothing, and it is repeated once they are decided.
///
///     do result = evaluate(..., decisions);
///     while (decisions.are_open() && co_await decisions.decide());
///
/// A question is decided once for a request. Not used by two threads at a time.
class ExpressionAuthorizer final : public cel::AuthorizationSource {
public:
    /// Both outlive it.
    ExpressionAuthorizer(Authorizer& authorizer, const User& user) : authorizer_(authorizer), user_(user) {}

    cel::AuthorizationAnswer authorize(const cel::AuthorizationQuestion& question) const override;
    /// Whether a question was asked since decide() whose decision is not known.
    bool are_open() const { return !open_.empty(); }
    Task<> decide();

private:
    AuthorizationAttributes attributes_of(const cel::AuthorizationQuestion& question) const;

    Authorizer& authorizer_;
    const User& user_;
    // By all that a question consists of.
    std::map<std::string, cel::AuthorizationAnswer> decided_;
    mutable std::map<std::string, cel::AuthorizationQuestion> open_;
};

}  // namespace porthole::apiserver
