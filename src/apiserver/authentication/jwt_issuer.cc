#include "apiserver/authentication/jwt_issuer.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// How far an issuer's clock may be ahead of ours, as upstream has it. A token's end has no such tolerance.
constexpr std::int64_t ClockSkewSeconds = 300;

Error refused(std::string why) { return Error(Reason::Unauthorized, "oidc: " + std::move(why)); }

/// Says of which field the expression is that failed.
template <class T>
Result<T> in_expression(const char* field, Result<T> value) {
    if (!value) return refused("error evaluating " + std::string(field) + " expression: " + value.error().message);
    return value;
}

/// A NumericDate; nullopt where it is missing or no number that a time can be.
std::optional<std::int64_t> seconds_of(const Value& claims, const char* name) {
    const Value* found = claims.find(name);
    if (!found || !found->is_number()) return std::nullopt;
    if (found->is_int()) return found->as_int();
    const double number = found->as_double();
    if (!(std::abs(number) < 1e15)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

bool is_meant_for(const Value& claims, const std::vector<std::string>& audiences) {
    const auto accepted = [&](const Value& one) {
        return one.is_string() && std::ranges::find(audiences, one.as_string()) != audiences.end();
    };
    const Value& aud = schema::at(claims, "aud");
    return aud.is_array() ? std::ranges::any_of(aud.as_array(), accepted) : accepted(aud);
}

Result<std::string> text_claim(const Value& claims, const std::string& name) {
    const Value* found = claims.find(name);
    if (!found) return refused("claim " + quote(name) + " is not present");
    if (!found->is_string() || found->as_string().empty()) return refused("claim " + quote(name) + " is not a string that can be used");
    return found->as_string();
}

/// A string or a list of strings; none where the claim is missing.
Result<std::vector<std::string>> texts_claim(const Value& claims, const std::string& name) {
    const Value& found = schema::at(claims, name);
    if (found.is_null()) return std::vector<std::string>();
    if (found.is_string()) return std::vector<std::string>{found.as_string()};
    std::vector<std::string> texts;
    if (!found.is_array()) return refused("claim " + quote(name) + " is neither a string nor a list of strings");
    for (const Value& item : found.as_array()) {
        if (!item.is_string()) return refused("claim " + quote(name) + " is neither a string nor a list of strings");
        texts.push_back(item.as_string());
    }
    return texts;
}

Result<void> check_time(const Value& claims, SystemTime now) {
    const auto current = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    const auto end = seconds_of(claims, "exp"), begin = seconds_of(claims, "nbf");
    if (!end) return refused("the token has no expiry");
    if (*end <= current) return refused("the token has expired");
    if (begin && *begin > current + ClockSkewSeconds) return refused("the token is not valid yet");
    return {};
}

Result<std::string> username_of(const ClaimMapping& mapping, const Value& claims) {
    if (mapping.expression) {
        TRY(std::string name, in_expression("username claim", mapping.expression->text_of(claims, "username")));
        if (name.empty()) return refused("error evaluating username claim expression: the username is empty");
        return name;
    }
    TRY(const std::string name, text_claim(claims, mapping.claim));
    if (mapping.claim == "email") {
        const Value* verified = claims.find("email_verified");
        if (verified && !verified->bool_or(false)) return refused("email not verified");
    }
    return mapping.prefix + name;
}

Result<std::vector<std::string>> groups_of(const ClaimMapping& mapping, const Value& claims) {
    if (mapping.expression) return in_expression("group claim", mapping.expression->texts_of(claims));
    TRY(auto groups, texts_claim(claims, mapping.claim));
    for (std::string& group : groups) group.insert(0, mapping.prefix);
    return groups;
}

Result<std::string> uid_of(const JwtIssuer& issuer, const Value& claims) {
    if (issuer.uid_expression) return in_expression("uid claim", issuer.uid_expression->text_of(claims, "uid"));
    if (issuer.uid_claim.empty()) return std::string();
    return text_claim(claims, issuer.uid_claim);
}

Result<void> check_rules(const std::vector<ValidationRule>& rules, const Value& variable, const char* what) {
    for (const ValidationRule& rule : rules)
        if (auto holds = rule.condition.check(variable, rule.message); !holds)
            return refused("error evaluating " + std::string(what) + ": " + holds.error().message);
    return {};
}

}  // namespace

Result<User> user_of_claims(const JwtIssuer& issuer, const Value& claims, SystemTime now) {
    TRY_VOID(check_time(claims, now));
    if (!is_meant_for(claims, issuer.audiences)) return refused("expected audience in [" + join(issuer.audiences, " ") + "]");
    User user;
    TRY(user.name, username_of(issuer.username, claims));
    if (issuer.groups) {
        TRY(user.groups, groups_of(*issuer.groups, claims));
    }
    TRY(user.uid, uid_of(issuer, claims));
    for (const ExtraMapping& mapping : issuer.extra) {
        TRY(auto values, in_expression("extra claim", mapping.values.texts_of(claims)));
        if (!values.empty()) user.extra[mapping.key] = std::move(values);
    }
    if (const std::string_view id = claims.string_at({"jti"}); !id.empty())
        user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=" + std::string(id)};
    for (const auto& [claim, value] : issuer.required_claims) {
        TRY(const std::string found, text_claim(claims, claim));
        if (found != value) return refused("required claim " + quote(claim) + " value does not match");
    }
    TRY_VOID(check_rules(issuer.claim_rules, claims, "claim validation expression"));
    TRY_VOID(check_rules(issuer.user_rules, user_variable(user), "user info validation rule"));
    return user;
}

}  // namespace porthole::apiserver
