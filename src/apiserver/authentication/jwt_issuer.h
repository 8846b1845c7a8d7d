#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/authentication/claim_expression.h"
#include "apiserver/request/user.h"
#include "base/result.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The claim that becomes a name, and its prefix; or the expression that yields the name.
struct ClaimMapping {
    std::string claim, prefix;
    std::optional<ClaimExpression> expression{};
    bool operator==(const ClaimMapping&) const = default;
};

/// A key of a user's extra information, which is left out where the expression yields no value.
struct ExtraMapping {
    std::string key;
    ClaimExpression values;
    bool operator==(const ExtraMapping&) const = default;
};

/// A condition on the token, and the message if it does not hold.
struct ValidationRule {
    ClaimExpression condition;
    std::string message;
    bool operator==(const ValidationRule&) const = default;
};

/// An issuer of tokens, and how its claims are mapped to users: one entry of `jwt` in an AuthenticationConfiguration.
struct JwtIssuer {
    std::string url;                      ///< the claim `iss`
    std::string discovery_url;            ///< "" for the well-known URL below `url`
    std::string ca_pem;                   ///< "" for the system's roots
    std::vector<std::string> audiences;   ///< one of which the claim `aud` must name
    std::vector<std::string> algorithms;  ///< accepted for signatures; empty for all that are supported
    ClaimMapping username{.claim = "sub", .prefix = {}};
    std::optional<ClaimMapping> groups;
    std::string uid_claim;  ///< "" for none
    std::optional<ClaimExpression> uid_expression{};
    std::vector<ExtraMapping> extra{};
    std::map<std::string, std::string> required_claims;
    std::vector<ValidationRule> claim_rules{}, user_rules{};
    bool operator==(const JwtIssuer&) const = default;
};

/// The user of verified claims at `now`. Error: Unauthorized with the reason: expired, not valid yet, other audiences, a required or mapped
/// claim that is missing, an expression that fails, a rule that does not hold.
Result<User> user_of_claims(const JwtIssuer& issuer, const schema::Value& claims, SystemTime now);

}  // namespace porthole::apiserver
