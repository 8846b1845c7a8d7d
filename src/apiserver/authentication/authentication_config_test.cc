#include "apiserver/authentication/authentication_config.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

const std::vector<std::string> Own{"https://kubernetes.default.svc", "https://former"};
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

std::string mapped(const std::string& mappings, const std::string& more = "") {
    return entry("url: 'https://a', audiences: [x]", mappings, more);
}
std::string ruled(const std::string& more) { return mapped("username: {claim: sub, prefix: ''}", more); }

TEST(AuthenticationConfig, TakesExpressionsInsteadOfClaims) {
    const auto file = parse_authentication_config(
        Head + mapped("username: {expression: claims.sub}, groups: {expression: claims.roles}, uid: {expression: claims.id}, "
                      "extra: [{key: a.b/c, valueExpression: claims.team}]",
                      ", claimValidationRules: [{expression: 'claims.hd == \"a\"', message: mm}], "
                      "userValidationRules: [{expression: 'user.username != \"root\"', message: nn}]"),
        "file", Own);
    ASSERT_TRUE(file) << file.error().message;
    const JwtIssuer& issuer = file->issuers.at(0);
    EXPECT_EQ(issuer.username.expression->text(), "claims.sub");
    EXPECT_EQ(issuer.groups->expression->text(), "claims.roles");
    EXPECT_EQ(issuer.uid_expression->text(), "claims.id");
    EXPECT_EQ(issuer.extra.at(0).key, "a.b/c");
    EXPECT_EQ(issuer.extra.at(0).values.text(), "claims.team");
    EXPECT_EQ(issuer.claim_rules.at(0).message, "mm");
    EXPECT_EQ(issuer.user_rules.at(0).condition.text(), "user.username != \"root\"");
}

TEST(AuthenticationConfig, ChecksExpressionsInUpstreamsWords) {
    const struct {
        const char* name;
        std::string text;
        const char* problem;
    } rows[] = {
        {"syntax", mapped("username: {expression: claims.}"),
         "jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation failed: ERROR: <input>:1:8: Syntax error"},
        {"unknown variable", mapped("username: {expression: user.username}"),
         "username.expression: Invalid value: \"user.username\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'user'"},
        {"unknown field", ruled(", userValidationRules: [{expression: 'user.name == \"a\"'}]"), "undefined field 'name'"},
        {"claims of a user rule", ruled(", userValidationRules: [{expression: claims.a}]"), "undeclared reference to 'claims'"},
        {"groups", mapped("username: {claim: sub, prefix: ''}, groups: {expression: 1 +}"), "jwt[0].claimMappings.groups.expression: "},
        {"uid", mapped("username: {claim: sub, prefix: ''}, uid: {expression: 1 +}"), "jwt[0].claimMappings.uid.expression: "},
        {"extra", mapped("username: {claim: sub, prefix: ''}, extra: [{key: a.b/c, valueExpression: 1 +}]"),
         "jwt[0].claimMappings.extra[0].valueExpression: "},
        {"a function of 1.37", ruled(", claimValidationRules: [{expression: \"claims.groups.includes('a')\"}]"),
         "undeclared reference to 'includes'"},
        {"a rule of any type", ruled(", claimValidationRules: [{expression: claims.hd}]"),
         "jwt[0].claimValidationRules[0].expression: Invalid value: \"claims.hd\": must evaluate to bool"},
        {"a user rule of a string", ruled(", userValidationRules: [{expression: user.uid}]"),
         "jwt[0].userValidationRules[0].expression: Invalid value: \"user.uid\": must evaluate to bool"},
        {"both of a name", mapped("username: {claim: sub, expression: claims.sub}"),
         "jwt[0].claimMappings.username: Invalid value: \"\": claim and expression can't both be set"},
        {"both of a uid", mapped("username: {claim: sub, prefix: ''}, uid: {claim: sub, expression: claims.sub}"),
         "jwt[0].claimMappings.uid: Invalid value: \"\": claim and expression can't both be set"},
        {"both of a rule", ruled(", claimValidationRules: [{claim: a, expression: 'true'}]"),
         "jwt[0].claimValidationRules[0]: Invalid value: \"a\": claim and expression can't both be set"},
        {"a prefix", mapped("username: {prefix: a, expression: claims.sub}"),
         "jwt[0].claimMappings.username.prefix: Invalid value: \"a\": may not be specified when expression is set"},
        {"a required value", ruled(", claimValidationRules: [{requiredValue: a, expression: 'true'}]"),
         "jwt[0].claimValidationRules[0].requiredValue: Invalid value: \"a\": may not be specified when expression is set"},
        {"a rule twice", ruled(", claimValidationRules: [{expression: 'true'}, {expression: 'true'}]"),
         "jwt[0].claimValidationRules[1].expression: Duplicate value: \"true\""},
        {"a user rule twice", ruled(", userValidationRules: [{expression: 'true'}, {expression: 'true'}]"),
         "jwt[0].userValidationRules[1].expression: Duplicate value: \"true\""},
        {"a user rule without one", ruled(", userValidationRules: [{message: a}]"),
         "jwt[0].userValidationRules[0].expression: Required value"},
        {"no key", mapped("username: {claim: sub, prefix: ''}, extra: [{valueExpression: claims.a}]"),
         "jwt[0].claimMappings.extra[0].key: Required value"},
        {"a key without a domain", mapped("username: {claim: sub, prefix: ''}, extra: [{key: a, valueExpression: claims.a}]"),
         "must be a domain-prefixed path (such as \"acme.io/foo\")"},
        {"a key in capitals", mapped("username: {claim: sub, prefix: ''}, extra: [{key: a.b/C, valueExpression: claims.a}]"),
         "extra[0].key: Invalid value: \"a.b/C\": must be lowercase"},
        {"a key of Kubernetes", mapped("username: {claim: sub, prefix: ''}, extra: [{key: x.k8s.io/c, valueExpression: claims.a}]"),
         "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"},
        {"a key twice",
         mapped("username: {claim: sub, prefix: ''}, extra: [{key: a.b/c, valueExpression: '1'}, {key: a.b/c, valueExpression: '2'}]"),
         "jwt[0].claimMappings.extra[1].key: Duplicate value: \"a.b/c\""},
        {"no value", mapped("username: {claim: sub, prefix: ''}, extra: [{key: a.b/c}]"),
         "jwt[0].claimMappings.extra[0].valueExpression: Required value"},
    };
    for (const auto& row : rows)
        EXPECT_NE(refusal_of(row.text).find(row.problem), std::string::npos) << row.name << ": " << refusal_of(row.text);
}

TEST(AuthenticationConfig, AnAddressOfMailNeedsItsVerification) {
    constexpr const char* Needed =
        "file: jwt[0].claimMappings.username.expression: Invalid value: \"claims.email\": claims.email_verified must be used in "
        "claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
        "claims.email is used in claimMappings.username.expression";
    const struct {
        const char* mappings;
        const char* more;
        bool accepted;
    } rows[] = {
        {"username: {expression: claims.email}", "", false},
        {"username: {expression: 'claims.?email.orValue(\"a\")'}", "", false},
        {"username: {expression: '[1].exists(x, has(claims.email)) ? \"a\" : \"b\"'}", "", false},
        {"username: {expression: claims.email}, groups: {expression: 'claims.email_verified ? \"a\" : \"b\"'}", "", false},
        {"username: {expression: claims.email}", ", userValidationRules: [{expression: 'user.username != \"claims.email_verified\"'}]",
         false},
        {"username: {expression: claims.email}", ", claimValidationRules: [{expression: 'claims.?email_verified.orValue(true) == true'}]",
         true},
        {"username: {expression: claims.email}, extra: [{key: a.b/c, valueExpression: string(claims.email_verified)}]", "", true},
        {"username: {expression: 'claims.email_verified ? claims.email : claims.sub'}", "", true},
        {"username: {expression: claims.sub}", "", true},
    };
    for (const auto& row : rows) {
        const std::string refusal = refusal_of(mapped(row.mappings, row.more));
        EXPECT_EQ(refusal.empty(), row.accepted) << row.mappings << row.more << refusal;
    }
    EXPECT_EQ(refusal_of(mapped(rows[0].mappings)), Needed);
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
         "URL must not overlap with disallowed issuers: [https://former https://kubernetes.default.svc]"},
        {entry("url: 'https://former', audiences: [x]"), "jwt[0].issuer.url: Invalid value: \"https://former\": URL must not overlap"},
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
