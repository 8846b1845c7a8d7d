#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/request/user.h"
#include "base/result.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// Which claim becomes a name, and what is put before it.
struct ClaimMapping {
    std::string claim, prefix;
    bool operator==(const ClaimMapping&) const = default;
};

/// An issuer of tokens whose users get in, and how its claims become users: one entry of `jwt` in an AuthenticationConfiguration.
struct JwtIssuer {
    std::string url;                      ///< the claim `iss`
    std::string discovery_url;            ///< "" for the well-known one below `url`
    std::string ca_pem;                   ///< "" for the system's roots
    std::vector<std::string> audiences;   ///< one of which the claim `aud` must name
    std::vector<std::string> algorithms;  ///< that tokens may be signed with; empty for all that are known
    ClaimMapping username{.claim = "sub", .prefix = {}};
    std::optional<ClaimMapping> groups;
    std::string uid_claim;  ///< "" for none
    std::map<std::string, std::string> required_claims;
    bool operator==(const JwtIssuer&) const = default;
};

/// The user of verified claims at `now`. Error: Unauthorized, with what is wrong: expired, not valid yet, other audiences, a claim that is
/// required or mapped and missing.
Result<User> user_of_claims(const JwtIssuer& issuer, const schema::Value& claims, SystemTime now);

}  // namespace porthole::apiserver
