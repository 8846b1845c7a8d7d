#include "apiserver/authentication/authentication_config.h"

#include <algorithm>
#include <set>

#include "apiserver/outgoing/config_object.h"
#include "apiserver/validation/names.h"
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

std::string problem_of_issuer_url(const std::string& url, const std::vector<std::string>& own_issuers) {
    if (std::ranges::find(own_issuers, url) != own_issuers.end()) {
        const std::set<std::string> sorted(own_issuers.begin(), own_issuers.end());
        return "URL must not overlap with disallowed issuers: [" + join(sorted, " ") + "]";
    }
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

void read_issuer(ConfigObject object, const std::vector<std::string>& own_issuers, JwtIssuer& issuer) {
    ConfigProblems& problems = object.problems();
    issuer.url = object.text("url");
    if (issuer.url.empty()) {
        problems.required(object.path_of("url"), "URL is required");
    } else if (const auto problem = problem_of_issuer_url(issuer.url, own_issuers); !problem.empty()) {
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

using Compile = Result<ClaimExpression> (*)(const std::string& text);

/// nullopt, and a problem, where it does not compile.
std::optional<ClaimExpression> read_expression(ConfigObject& object, const char* field, Compile compile) {
    const std::string text = object.text(field);
    auto compiled = compile(text);
    if (compiled) return std::move(*compiled);
    object.problems().invalid(object.path_of(field), text, compiled.error().message);
    return std::nullopt;
}

/// A claim with a prefix, which must be said even when it is empty, or an expression.
ClaimMapping read_prefixed_claim(ConfigObject object, bool required) {
    ConfigProblems& problems = object.problems();
    ClaimMapping mapping;
    const bool prefixed = object.has("prefix"), by_expression = !object.text("expression").empty();
    mapping.claim = object.text("claim");
    mapping.prefix = object.text("prefix");
    if (by_expression && !mapping.claim.empty()) {
        problems.invalid(object.path(), "", "claim and expression can't both be set");
    } else if (by_expression) {
        if (prefixed) problems.invalid(object.path_of("prefix"), mapping.prefix, "may not be specified when expression is set");
        mapping.expression = read_expression(object, "expression", ClaimExpression::mapping);
    } else if (mapping.claim.empty()) {
        if (required) problems.required(object.path(), "claim or expression is required");
        if (prefixed) problems.invalid(object.path_of("prefix"), mapping.prefix, "prefix can't be set without claim");
    } else if (!prefixed) {
        problems.required(object.path_of("prefix"),
                          "prefix is required when claim is set. It can be set to an empty string to disable prefixing");
    }
    object.finish();
    return mapping;
}

void read_uid(ConfigObject object, JwtIssuer& issuer) {
    const bool by_expression = !object.text("expression").empty();
    issuer.uid_claim = object.text("claim");
    if (by_expression && !issuer.uid_claim.empty()) {
        object.problems().invalid(object.path(), "", "claim and expression can't both be set");
    } else if (by_expression) {
        issuer.uid_expression = read_expression(object, "expression", ClaimExpression::mapping);
    }
    object.finish();
}

void check_extra_key(ConfigObject& object, const std::string& key) {
    ConfigProblems& problems = object.problems();
    const std::string path = object.path_of("key");
    if (key.empty()) problems.required(path);
    if (!key.empty())
        for (const std::string& problem : names::check_domain_prefixed_path(key)) problems.invalid(path, key, problem);
    if (to_lower(key) != key) problems.invalid(path, key, "must be lowercase");
    const std::string domain = "." + key.substr(0, std::min(key.find('/'), key.size()));
    if (key.contains('/') && (domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io")))
        problems.invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
}

void read_extra(ConfigObject& mappings, JwtIssuer& issuer) {
    std::set<std::string> seen;
    for (ConfigObject& object : mappings.objects("extra")) {
        const std::string key = object.text("key");
        check_extra_key(object, key);
        if (!seen.insert(key).second) {
            object.problems().add(object.path_of("key"), "Duplicate value: " + quote(key));
        } else if (object.text("valueExpression").empty()) {
            object.problems().required(object.path_of("valueExpression"));
        } else if (auto values = read_expression(object, "valueExpression", ClaimExpression::mapping)) {
            issuer.extra.push_back({key, std::move(*values)});
        }
        object.finish();
    }
}

/// A user who may write any address of mail into a token is nobody's: whoever reads the address has to ask whether it was verified.
void check_email(const ConfigObject& mappings, ConfigProblems& problems, const JwtIssuer& issuer) {
    const auto& username = issuer.username.expression;
    if (!username || !username->names_claim("email")) return;
    const auto asks = [](const ClaimExpression& one) { return one.names_claim("email_verified"); };
    if (asks(*username) || std::ranges::any_of(issuer.extra, asks, &ExtraMapping::values) ||
        std::ranges::any_of(issuer.claim_rules, asks, &ValidationRule::condition))
        return;
    problems.invalid(mappings.path_of("username.expression"), username->text(),
                     "claims.email_verified must be used in claimMappings.username.expression or "
                     "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in "
                     "claimMappings.username.expression");
}

void read_mappings(ConfigObject object, JwtIssuer& issuer) {
    issuer.username = read_prefixed_claim(object.object("username"), true);
    if (ClaimMapping mapping = read_prefixed_claim(object.object("groups"), false); !mapping.claim.empty() || mapping.expression)
        issuer.groups = std::move(mapping);
    read_uid(object.object("uid"), issuer);
    read_extra(object, issuer);
    check_email(object, object.problems(), issuer);
    object.finish();
}

void read_required_claim(ConfigObject& rule, JwtIssuer& issuer) {
    const std::string claim = rule.text("claim"), message = rule.text("message");
    if (!message.empty()) rule.problems().invalid(rule.path_of("message"), message, "may not be specified when claim is set");
    if (!issuer.required_claims.emplace(claim, rule.text("requiredValue")).second)
        rule.problems().add(rule.path_of("claim"), "Duplicate value: " + quote(claim));
}

void read_condition(ConfigObject& rule, Compile compile, std::set<std::string>& seen, std::vector<ValidationRule>& rules) {
    const std::string text = rule.text("expression");
    if (!seen.insert(text).second) {
        rule.problems().add(rule.path_of("expression"), "Duplicate value: " + quote(text));
    } else if (auto condition = read_expression(rule, "expression", compile)) {
        rules.push_back({std::move(*condition), rule.text("message")});
    }
}

void read_claim_rules(ConfigObject& entry, JwtIssuer& issuer) {
    ConfigProblems& problems = entry.problems();
    std::set<std::string> seen;
    for (ConfigObject& rule : entry.objects("claimValidationRules")) {
        const std::string claim = rule.text("claim"), value = rule.text("requiredValue");
        const bool by_expression = !rule.text("expression").empty();
        (void)rule.text("message");
        if (by_expression && !claim.empty()) {
            problems.invalid(rule.path(), claim, "claim and expression can't both be set");
        } else if (by_expression) {
            if (!value.empty()) problems.invalid(rule.path_of("requiredValue"), value, "may not be specified when expression is set");
            read_condition(rule, ClaimExpression::claim_rule, seen, issuer.claim_rules);
        } else if (claim.empty()) {
            problems.required(rule.path(), "claim or expression is required");
        } else {
            read_required_claim(rule, issuer);
        }
        rule.finish();
    }
}

void read_user_rules(ConfigObject& entry, JwtIssuer& issuer) {
    std::set<std::string> seen;
    for (ConfigObject& rule : entry.objects("userValidationRules")) {
        (void)rule.text("message");
        if (rule.text("expression").empty()) {
            rule.problems().required(rule.path_of("expression"));
        } else {
            read_condition(rule, ClaimExpression::user_rule, seen, issuer.user_rules);
        }
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

Result<AuthenticationFile> parse_authentication_config(std::string_view text, std::string_view source,
                                                       const std::vector<std::string>& own_issuers) {
    TRY(const schema::Value document,
        parse_config(text, source, {"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1"}, "AuthenticationConfiguration"));
    ConfigProblems problems;
    ConfigObject root(document, "", problems);
    AuthenticationFile file;
    std::set<std::string> urls, discovery_urls;
    for (ConfigObject& entry : root.objects("jwt")) {
        JwtIssuer& issuer = file.issuers.emplace_back();
        read_issuer(entry.object("issuer"), own_issuers, issuer);
        read_claim_rules(entry, issuer);
        read_mappings(entry.object("claimMappings"), issuer);
        read_user_rules(entry, issuer);
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

Result<JwtIssuer> issuer_of_flags(const OidcFlags& flags, const std::vector<std::string>& own_issuers) {
    const auto refused = [](const std::string& why) { return Error(Reason::BadRequest, why); };
    if (flags.issuer_url.empty() || flags.client_id.empty())
        return refused("oidc-issuer-url and oidc-client-id must be specified together");
    if (const auto problem = problem_of_issuer_url(flags.issuer_url, own_issuers); !problem.empty())
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
