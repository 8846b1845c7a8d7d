#include "apiserver/authentication/authentication_config.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

constexpr const char* Own = "https://kubernetes.default.svc";
constexpr const char* Head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";

std::string refusal_of(const std::string& body) {
    const auto file = parse_authentication_config(Head + body, "file", Own);
    return file ? "" : file.error().message;
}

/// One issuer with what every one needs, and `more` fields of the entry.
std::string entry(const std::string& issuer = "url: 'https://a', audiences: [x]",
                  const std::string& mappings = "username: {claim: sub, prefix: ''}", const std::string& more = "") {
    return "jwt: [{issuer: {" + issuer + "}, claimMappings: {" + mappings + "}" + more + "}]\n";
}

TEST(AuthenticationConfig, SaysHowClaimsBecomeUsers) {
    const auto file = parse_authentication_config(std::string(Head) + R"(
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
jwt:
- issuer:
    url: https://a
    discoveryURL: https://b/.well-known/openid-configuration
    audiences: [x, z]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
  claimMappings:
    username: {claim: email, prefix: "a:"}
    groups: {claim: roles, prefix: ""}
    uid: {claim: sub}
)",
                                                  "file", Own);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->issuers.size(), 1u);
    const JwtIssuer& issuer = file->issuers[0];
    EXPECT_EQ(issuer.url, "https://a");
    EXPECT_EQ(issuer.discovery_url, "https://b/.well-known/openid-configuration");
    EXPECT_EQ(issuer.audiences, (std::vector<std::string>{"x", "z"}));
    EXPECT_EQ(issuer.username, (ClaimMapping{"email", "a:"}));
    EXPECT_EQ(issuer.groups, (ClaimMapping{"roles", ""}));
    EXPECT_EQ(issuer.uid_claim, "sub");
    EXPECT_EQ(issuer.required_claims, (std::map<std::string, std::string>{{"hd", "example.com"}}));
    ASSERT_TRUE(file->anonymous);
    EXPECT_EQ(file->anonymous->paths, (std::vector<std::string>{"/livez", "/readyz"}));
    EXPECT_EQ(refusal_of(""), "");
}

TEST(AuthenticationConfig, RefusesEveryExpressionByName) {
    constexpr const char* Cel = ": CEL expressions are not supported by this server yet";
    const struct {
        std::string text;
        const char* path;
    } rows[] = {
        {entry("url: 'https://a', audiences: [x]", "username: {expression: claims.sub}"), "jwt[0].claimMappings.username.expression"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}, groups: {expression: claims.g}"),
         "jwt[0].claimMappings.groups.expression"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}, uid: {expression: claims.g}"),
         "jwt[0].claimMappings.uid.expression"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}, extra: [{key: a.b/c, valueExpression: claims.g}]"),
         "jwt[0].claimMappings.extra[0].valueExpression"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}",
               ", claimValidationRules: [{expression: 'true', message: m}]"),
         "jwt[0].claimValidationRules[0].expression"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}",
               ", userValidationRules: [{expression: 'true', message: m}]"),
         "jwt[0].userValidationRules[0].expression"},
    };
    for (const auto& row : rows) EXPECT_EQ(refusal_of(row.text), "file: " + std::string(row.path) + Cel);
}

TEST(AuthenticationConfig, IsCheckedInUpstreamsWords) {
    const struct {
        std::string text;
        const char* problem;
    } rows[] = {
        {entry("audiences: [x]"), "jwt[0].issuer.url: Required value: URL is required"},
        {entry("url: 'http://a', audiences: [x]"), "jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https"},
        {entry("url: 'https://u@a', audiences: [x]"), "URL must not contain a username or password"},
        {entry("url: 'https://a?b', audiences: [x]"), "URL must not contain a query"},
        {entry("url: 'https://a#b', audiences: [x]"), "URL must not contain a fragment"},
        {entry("url: 'https://kubernetes.default.svc', audiences: [x]"),
         "URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]"},
        {entry("url: 'https://a', discoveryURL: 'https://a', audiences: [x]"), "discoveryURL must be different from URL"},
        {entry("url: 'https://a', audiences: [x], certificateAuthority: nothing"), "jwt[0].issuer.certificateAuthority: Invalid value"},
        {entry("url: 'https://a'"), "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"},
        {entry("url: 'https://a', audiences: ['']"), "audience can't be empty"},
        {entry("url: 'https://a', audiences: [x, x], audienceMatchPolicy: MatchAny"), "jwt[0].issuer.audiences: Duplicate value: \"x\""},
        {entry("url: 'https://a', audiences: [x, z]"), "audienceMatchPolicy must be set to MatchAny for multiple audiences"},
        {entry("url: 'https://a', audiences: [x], audienceMatchPolicy: All"),
         "audienceMatchPolicy must be empty or MatchAny for single audience"},
        {entry("url: 'https://a', audiences: [x]", "uid: {claim: sub}"),
         "jwt[0].claimMappings.username: Required value: claim or expression is required"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub}"),
         "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}, groups: {prefix: g}"),
         "prefix can't be set without claim"},
        {entry("url: 'https://a', audiences: [x]", "username: {claim: sub, prefix: ''}",
               ", claimValidationRules: [{claim: a}, {claim: a}]"),
         "jwt[0].claimValidationRules[1].claim: Duplicate value: \"a\""},
        {entry("url: 'https://a', audiences: [x], typo: 1"), "unknown field \"jwt[0].issuer.typo\""},
        {"anonymous: {enabled: false, conditions: [{path: /livez}]}\n", "enabled should be set to true when conditions are defined"},
        {"anonymous: {enabled: true, conditions: [{}]}\n", "anonymous.conditions[0].path: Required value"},
    };
    for (const auto& row : rows) EXPECT_NE(refusal_of(row.text).find(row.problem), std::string::npos) << row.text << refusal_of(row.text);
    const std::string one = "{issuer: {url: 'https://a', audiences: [x]}, claimMappings: {username: {claim: sub, prefix: ''}}}";
    EXPECT_EQ(refusal_of("jwt: [" + one + ", " + one + "]\n"), "file: jwt[1].issuer.url: Duplicate value: \"https://a\"");
    EXPECT_EQ(refusal_of(entry()), "");
}

TEST(OidcFlags, AreAnIssuer) {
    const auto issuer = issuer_of_flags({.issuer_url = "https://a", .client_id = "x", .ca_pem = {}, .groups_claim = "roles"}, Own);
    ASSERT_TRUE(issuer) << issuer.error().message;
    EXPECT_EQ(issuer->username, (ClaimMapping{"sub", "https://a#"}));
    EXPECT_EQ(issuer->audiences, std::vector<std::string>{"x"});
    EXPECT_EQ(issuer->algorithms, std::vector<std::string>{"RS256"});
    EXPECT_EQ(issuer->groups, (ClaimMapping{"roles", ""}));
    EXPECT_EQ(issuer_of_flags({.issuer_url = "https://a", .client_id = "x", .ca_pem = {}, .username_claim = "email"}, Own)->username.prefix,
              "");
    EXPECT_EQ(
        issuer_of_flags({.issuer_url = "https://a", .client_id = "x", .ca_pem = {}, .username_claim = "sub", .username_prefix = "-"}, Own)
            ->username.prefix,
        "");
    const auto refusal = [](OidcFlags flags) { return issuer_of_flags(flags, Own).error().message; };
    EXPECT_EQ(refusal({.issuer_url = "https://a"}), "oidc-issuer-url and oidc-client-id must be specified together");
    EXPECT_EQ(refusal({.issuer_url = "http://a", .client_id = "x"}), "oidc-issuer-url \"http://a\": URL scheme must be https");
    EXPECT_EQ(refusal({.issuer_url = "https://a", .client_id = "x", .ca_pem = {}, .signing_algorithms = {"HS256"}}),
              "oidc-signing-algs: \"HS256\" is not supported");
}

}  // namespace
}  // namespace porthole::apiserver
