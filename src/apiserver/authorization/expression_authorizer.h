#pragma once
#include <map>
#include <string>

#include "apiserver/authorization/authorizer.h"
#include "cel/library/authorizer.h"

namespace porthole::apiserver {

/// The decisions behind the variable `authorizer` of one request's expressions. Expressions cannot wait: an evaluation records the
/// questions whose decision is not known yet, its result is discarded, and it is repeated once they are decided.
///
///     do result = evaluate(..., decisions);
///     while (decisions.are_open() && co_await decisions.decide());
///
/// A question is decided once per request. Used by one thread at a time.
class ExpressionAuthorizer final : public cel::AuthorizationSource {
public:
    /// Both outlive it.
    ExpressionAuthorizer(Authorizer& authorizer, const User& user) : authorizer_(authorizer), user_(user) {}

    cel::AuthorizationAnswer authorize(const cel::AuthorizationQuestion& question) const override;
    /// Whether, since decide(), a question was asked whose decision is not known.
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
