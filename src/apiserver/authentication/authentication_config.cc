#include "apiserver/authentication/authentication_config.h"

#include <algorithm>
#include <set>

#include "apiserver/outgoing/config_object.h"
#include "base/strings.h"
#include "client/kubeconfig.h"
#include "net/tls/jws_verifier.h"
#include "net/tls/tls.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t MostIssuers = 64;

/// What is wrong with the URL of an issuer; "" for nothing.
std::string problem_of_url(const std::string& url) {
    if (!url.starts_with("https://")) return "URL scheme must be https";
    if (url.contains('@')) return "URL must not contain a username or password";
    if (url.contains('?')) return "URL must not contain a query";
    if (url.contains('#')) return "URL must not contain a fragment";
    const auto parsed = client::parse_server_url(url);
    return parsed ? "" : parsed.error().message;
}

std::string problem_of_issuer_url(const std::string& url, const std::string& own_issuer) {
    if (url == own_issuer) return "URL must not overlap with disallowed issuers: [" + own_issuer + "]";
    return problem_of_url(url);
}

/// "" for the system's roots and for certificates that can be read.
std::string problem_of_ca(const std::string& pem) {
    if (pem.empty()) return "";
    const auto context = net::TlsClientContext::create({.ca_pem = pem});
    return context ? "" : context.error().message;
}

void read_audiences(ConfigObject& object, JwtIssuer& issuer) {
    ConfigProblems& problems = object.problems();
    issuer.audiences = object.texts("audiences");
    const std::string policy = object.text("audienceMatchPolicy"), path = object.path_of("audiences");
    if (issuer.audiences.empty()) problems.required(path, "at least one " + path + " is required");
    std::set<std::string> seen;
    for (const std::string& audience : issuer.audiences) {
        if (audience.empty()) problems.required(path, "audience can't be empty");
        if (!seen.insert(audience).second) problems.add(path, "Duplicate value: " + quote(audience));
    }
    if (issuer.audiences.size() > 1 && policy != "MatchAny")
        problems.invalid(object.path_of("audienceMatchPolicy"), policy,
                         "audienceMatchPolicy must be set to MatchAny for multiple audiences");
    if (issuer.audiences.size() <= 1 && !policy.empty() && policy != "MatchAny")
        problems.invalid(object.path_of("audienceMatchPolicy"), policy,
                         "audienceMatchPolicy must be empty or MatchAny for single audience");
}

void read_issuer(ConfigObject object, const std::string& own_issuer, JwtIssuer& issuer) {
    ConfigProblems& problems = object.problems();
    issuer.url = object.text("url");
    if (issuer.url.empty()) {
        problems.required(object.path_of("url"), "URL is required");
    } else if (const auto problem = problem_of_issuer_url(issuer.url, own_issuer); !problem.empty()) {
        problems.invalid(object.path_of("url"), issuer.url, problem);
    }
    issuer.discovery_url = object.text("discoveryURL");
    if (!issuer.discovery_url.empty()) {
        const auto problem =
            issuer.discovery_url == issuer.url ? "discoveryURL must be different from URL" : problem_of_url(issuer.discovery_url);
        if (!problem.empty()) problems.invalid(object.path_of("discoveryURL"), issuer.discovery_url, problem);
    }
    issuer.ca_pem = object.text("certificateAuthority");
    if (const auto problem = problem_of_ca(issuer.ca_pem); !problem.empty())
        problems.invalid(object.path_of("certificateAuthority"), "<omitted>", problem);
    if (const std::string egress = object.text("egressSelectorType"); !egress.empty())
        problems.invalid(object.path_of("egressSelectorType"), egress, "this server has no egress selectors");
    read_audiences(object, issuer);
    object.finish();
}

/// A claim with a prefix, which must be said even when it is empty.
ClaimMapping read_prefixed_claim(ConfigObject& object) {
    ClaimMapping mapping;
    object.refuse_expression("expression");
    const bool prefixed = object.has("prefix");
    mapping.claim = object.text("claim");
    mapping.prefix = object.text("prefix");
    if (!mapping.claim.empty() && !prefixed)
        object.problems().required(object.path_of("prefix"),
                                   "prefix is required when claim is set. It can be set to an empty string to disable prefixing");
    if (mapping.claim.empty() && prefixed)
        object.problems().invalid(object.path_of("prefix"), mapping.prefix, "prefix can't be set without claim");
    object.finish();
    return mapping;
}

void read_mappings(ConfigObject object, JwtIssuer& issuer) {
    ConfigProblems& problems = object.problems();
    ConfigObject username = object.object("username");
    const bool has_expression = username.has("expression");
    issuer.username = read_prefixed_claim(username);
    if (issuer.username.claim.empty() && !has_expression) problems.required(username.path(), "claim or expression is required");
    ConfigObject groups = object.object("groups");
    if (ClaimMapping mapping = read_prefixed_claim(groups); !mapping.claim.empty()) issuer.groups = std::move(mapping);
    ConfigObject uid = object.object("uid");
    uid.refuse_expression("expression");
    issuer.uid_claim = uid.text("claim");
    uid.finish();
    for (ConfigObject& extra : object.objects("extra")) {
        (void)extra.text("key");
        if (!extra.has("valueExpression")) problems.required(extra.path_of("valueExpression"), "valueExpression is required");
        extra.refuse_expression("valueExpression");
        extra.finish();
    }
    object.finish();
}

void read_rules(ConfigObject& entry, JwtIssuer& issuer) {
    ConfigProblems& problems = entry.problems();
    for (ConfigObject& rule : entry.objects("claimValidationRules")) {
        const bool has_expression = rule.has("expression");
        rule.refuse_expression("expression");
        const std::string claim = rule.text("claim"), value = rule.text("requiredValue");
        if (rule.has("message") && !has_expression)
            problems.invalid(rule.path_of("message"), rule.text("message"), "message can't be set when claim is set");
        if (claim.empty() && !has_expression) problems.required(rule.path(), "claim or expression is required");
        if (!claim.empty() && !issuer.required_claims.emplace(claim, value).second)
            problems.add(rule.path_of("claim"), "Duplicate value: " + quote(claim));
        rule.finish();
    }
    for (ConfigObject& rule : entry.objects("userValidationRules")) {
        if (!rule.has("expression")) problems.required(rule.path_of("expression"), "expression is required");
        rule.refuse_expression("expression");
        (void)rule.text("message");
        rule.finish();
    }
}

AnonymousPolicy read_anonymous(ConfigObject object) {
    AnonymousPolicy policy{.enabled = object.flag("enabled"), .paths = {}};
    const bool limited = object.has("conditions");
    for (ConfigObject& condition : object.objects("conditions")) {
        policy.paths.push_back(condition.text("path"));
        if (policy.paths.back().empty()) object.problems().required(condition.path_of("path"));
        condition.finish();
    }
    if (limited && !policy.enabled)
        object.problems().add(object.path_of("conditions"), "enabled should be set to true when conditions are defined");
    object.finish();
    return policy;
}

}  // namespace

Result<AuthenticationFile> parse_authentication_config(std::string_view text, std::string_view source, const std::string& own_issuer) {
    TRY(const schema::Value document,
        parse_config(text, source, {"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1"}, "AuthenticationConfiguration"));
    ConfigProblems problems;
    ConfigObject root(document, "", problems);
    AuthenticationFile file;
    std::set<std::string> urls, discovery_urls;
    for (ConfigObject& entry : root.objects("jwt")) {
        JwtIssuer& issuer = file.issuers.emplace_back();
        read_issuer(entry.object("issuer"), own_issuer, issuer);
        read_mappings(entry.object("claimMappings"), issuer);
        read_rules(entry, issuer);
        if (!urls.insert(issuer.url).second) problems.add(entry.path_of("issuer.url"), "Duplicate value: " + quote(issuer.url));
        if (!issuer.discovery_url.empty() && !discovery_urls.insert(issuer.discovery_url).second)
            problems.add(entry.path_of("issuer.discoveryURL"), "Duplicate value: " + quote(issuer.discovery_url));
        entry.finish();
    }
    if (file.issuers.size() > MostIssuers)
        problems.add("jwt", "Too many: " + std::to_string(file.issuers.size()) + ": must have at most 64 items");
    if (root.has("anonymous")) file.anonymous = read_anonymous(root.object("anonymous"));
    root.finish();
    TRY_VOID(problems.outcome(source));
    return file;
}

Result<JwtIssuer> issuer_of_flags(const OidcFlags& flags, const std::string& own_issuer) {
    const auto refused = [](const std::string& why) { return Error(Reason::BadRequest, why); };
    if (flags.issuer_url.empty() || flags.client_id.empty())
        return refused("oidc-issuer-url and oidc-client-id must be specified together");
    if (const auto problem = problem_of_issuer_url(flags.issuer_url, own_issuer); !problem.empty())
        return refused("oidc-issuer-url " + quote(flags.issuer_url) + ": " + problem);
    if (const auto problem = problem_of_ca(flags.ca_pem); !problem.empty()) return refused("oidc-ca-file: " + problem);
    for (const std::string& algorithm : flags.signing_algorithms)
        if (!net::is_jws_algorithm(algorithm)) return refused("oidc-signing-algs: " + quote(algorithm) + " is not supported");
    JwtIssuer issuer;
    issuer.url = flags.issuer_url;
    issuer.ca_pem = flags.ca_pem;
    issuer.audiences = {flags.client_id};
    issuer.algorithms = flags.signing_algorithms;
    issuer.username = {flags.username_claim, flags.username_prefix};
    if (flags.username_prefix == "-") {
        issuer.username.prefix.clear();
    } else if (flags.username_prefix.empty() && flags.username_claim != "email") {
        issuer.username.prefix = flags.issuer_url + "#";  // so that no issuer names the users of another
    }
    if (!flags.groups_claim.empty()) issuer.groups = ClaimMapping{flags.groups_claim, flags.groups_prefix};
    issuer.required_claims = flags.required_claims;
    return issuer;
}

}  // namespace porthole::apiserver
