// What comes from outside about access: the administrator's configuration files, an issuer's documents and keys, tokens, and the answers of
// webhooks. Nothing that is read lets more in than it says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_security/pod_security_configuration.h"
#include "apiserver/authentication/authentication_config.h"
#include "apiserver/authentication/issuer_keys.h"
#include "apiserver/authentication/jwt.h"
#include "apiserver/authorization/authorization_config.h"
#include "apiserver/authorization/webhook_authorizer.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::apiserver;

namespace {

/// Who is exempt is named as a cluster names them.
void pod_security(const schema::Value& configuration) {
    const auto parsed = PodSecurityConfiguration::parse(configuration);
    if (!parsed) return;
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    for (const auto* names : {&parsed->exempt_users, &parsed->exempt_namespaces, &parsed->exempt_runtime_classes})
        if (std::ranges::any_of(*names, is_empty)) std::abort();
}

void configurations(std::string_view text) {
    if (const auto file = parse_authentication_config(text, "file", {"https://own"})) {
        for (const JwtIssuer& issuer : file->issuers)
            if (issuer.url.empty() || issuer.url == "https://own" || issuer.audiences.empty() ||
                (issuer.username.claim.empty() && !issuer.username.expression))
                std::abort();
    }
    if (const auto authorizers = parse_authorization_config(text, "file"); authorizers && authorizers->empty()) std::abort();
    sim::SimLoop loop;
    FakeServers servers(loop);
    if (!servers.files().write("/file", text, 0600)) std::abort();
    const auto plugins = read_admission_configurations(servers.files(), "/file");
    if (!plugins) return;
    for (const auto& [name, configuration] : *plugins) pod_security(configuration);
}

JwtIssuer issuer_by_expressions() {
    JwtIssuer issuer{.url = "https://issuer", .audiences = {"a"}};
    issuer.username.expression = *ClaimExpression::mapping("claims.?sub.orValue(claims.?exp).orValue('')");
    issuer.groups = ClaimMapping{.claim = {}, .prefix = {}, .expression = *ClaimExpression::mapping("claims.groups")};
    issuer.extra = {{"example.com/all", *ClaimExpression::mapping("claims.filter(c, type(claims[c]) == string)")}};
    issuer.claim_rules = {{*ClaimExpression::claim_rule("claims.all(a, claims.all(b, a == b || claims[a] != claims[b]))"), ""}};
    issuer.user_rules = {{*ClaimExpression::user_rule("user.groups.all(g, !g.startsWith('system:'))"), ""}};
    return issuer;
}

void tokens(std::string_view text) {
    static_cast<void>(jwks_uri_of(text, "https://issuer"));
    const auto keys = parse_json_web_keys(text);
    const auto token = parse_jwt(text);
    if (keys && keys->size() > 100) std::abort();
    // Of a key that is not this input's own nothing can be signed.
    static const auto known = parse_json_web_keys(R"({"keys":[{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",)"
                                                  R"("y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]})");
    if (!known || known->size() != 1) std::abort();
    if (token && is_signed_by(*token, *known)) std::abort();
    if (const auto claims = schema::parse_json(text)) {
        const JwtIssuer issuer{.url = "https://issuer", .audiences = {"a"}};
        static const JwtIssuer by_expression = issuer_by_expressions();
        for (const JwtIssuer& one : {issuer, by_expression}) {
            const auto user = user_of_claims(one, *claims, SystemTime());
            if (user && user->name.empty()) std::abort();
        }
    }
}

void answers(std::string_view text) {
    for (const char* kind : {"TokenReview", "SubjectAccessReview", "ImageReview"}) {
        const auto review = schema::Value::object({{"apiVersion", "v1"}, {"kind", kind}});
        const auto answer = parse_review_answer(text, review);
        if (!answer) continue;
        const auto user = user_of_token_review(*answer, {"a"});
        if (user && *user && (*user)->name.empty()) std::abort();
        static_cast<void>(decision_of_access_review(*answer));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    configurations(text);
    tokens(text);
    answers(text);
    return 0;
}
