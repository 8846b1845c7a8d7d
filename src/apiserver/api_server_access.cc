// Who may do what: the chains that requests pass.
#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/pod_security/pod_security_configuration.h"
#include "apiserver/api_server_parts.h"
#include "apiserver/resources/node_systems.h"
#include "apiserver/resources/object_attributes.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;

/// The level that pods keep to where their namespace's labels name none; "" where nothing looks.
Result<std::string> default_pod_security(const AdmissionChain& admission, const AdmissionOptions& options) {
    const std::string plugin(PodSecurityConfiguration::Plugin);
    const auto running = admission.names();
    if (std::ranges::find(running, plugin) == running.end()) return std::string();
    const auto found = options.configurations.find(plugin);
    TRY(const auto chosen, PodSecurityConfiguration::parse(found == options.configurations.end() ? schema::null_value() : found->second));
    return std::string(text_of(chosen.defaults.enforce.level));
}

}  // namespace

Result<void> ApiServerParts::open_access() {
    TRY(admission,
        make_admission_chain({.reader = reader,
                              .rbac = rbac,
                              .authorizer = authorizer,
                              .random = seams.random,
                              .loop = seams.loop,
                              .systems = NodeSystems(*store, seams.loop),
                              .label_of_node = [this](const std::string& node, std::string_view label) -> std::optional<std::string> {
                                  const auto record = store->get(object_key(api::core::v1::Node::kind(), "", node));
                                  if (!record) return std::nullopt;
                                  const auto found = attributes_of(*record).find_label(label);
                                  return found ? std::optional(std::string(*found)) : std::nullopt;
                              },
                              .outgoing = seams.outgoing,
                              .webhooks = {.mutating = &admission_objects.of<MutatingWebhookConfiguration>(),
                                           .validating = &admission_objects.of<ValidatingWebhookConfiguration>(),
                                           .versions = &versions,
                                           .metrics = &webhook_metrics},
                              .policies = {.validating = &admission_objects.of<ValidatingAdmissionPolicy>(),
                                           .validating_bindings = &admission_objects.of<ValidatingAdmissionPolicyBinding>(),
                                           .mutating = &admission_objects.of<MutatingAdmissionPolicy>(),
                                           .mutating_bindings = &admission_objects.of<MutatingAdmissionPolicyBinding>(),
                                           .parameters = &policy_parameters,
                                           .metrics = &policy_metrics},
                              .condition_metrics = &condition_metrics,
                              .pool = &seams.pool},
                             options.admission));
    flags["enable-admission-plugins"] = join(admission.names(), ",");
    TRY(flags["pod-security-default"], default_pod_security(admission, options.admission));
    TRY_VOID(add_authenticators());
    return use_authorizers(options.authorizers);
}

Result<std::unique_ptr<Webhook>> ApiServerParts::open_webhook(const std::string& kubeconfig, Webhook::Settings settings) {
    if (!seams.outgoing) return Error(Reason::BadRequest, kubeconfig + ": this server cannot connect to webhooks");
    TRY(auto client, open_by_kubeconfig(*seams.outgoing, kubeconfig));
    return std::make_unique<Webhook>(std::move(client), seams.loop, seams.random, settings);
}

Result<void> ApiServerParts::add_authenticators() {
    const AuthenticationOptions& chosen = options.authentication;
    if (!chosen.request_header.ca_pem.empty()) authenticators.add(std::make_unique<RequestHeaderAuthenticator>(chosen.request_header));
    authenticators.add(std::make_unique<CertificateAuthenticator>(client_certificates, seams.loop));
    authenticators.add(std::make_unique<ServiceAccountAuthenticator>(tokens));
    authenticators.add(std::make_unique<BootstrapTokenAuthenticator>(reader, seams.loop));
    auto of_issuers = std::make_unique<JwtAuthenticators>(seams.outgoing, seams.loop, seams.log);
    issuers = of_issuers.get();
    authenticators.add(std::move(of_issuers));
    TRY_VOID(issuers->start(chosen.issuers));
    if (chosen.webhook) {
        TRY(auto webhook, open_webhook(chosen.webhook->kubeconfig, {}));
        authenticators.add(
            std::make_unique<TokenWebhookAuthenticator>(std::move(webhook), *chosen.webhook, tokens.settings().api_audiences, seams.loop));
    }
    authenticators.set_anonymous(chosen.anonymous);
    return {};
}

Result<void> ApiServerParts::use_authorizers(const std::vector<AuthorizerOptions>& chosen) {
    using Type = AuthorizerOptions::Type;
    const auto has = [&](Type type) { return std::ranges::find(chosen, type, &AuthorizerOptions::type) != chosen.end(); };
    AuthorizerChain::Authorizers made;
    made.push_back(std::make_unique<PrivilegedGroupAuthorizer>());
    made.push_back(std::make_unique<PublicPathAuthorizer>(has(Type::Rbac)));
    for (const AuthorizerOptions& one : chosen) {
        if (one.type == Type::Node) made.push_back(std::make_unique<NodeAuthorizer>(node_graph, rbac, reader));
        if (one.type == Type::Rbac) made.push_back(std::make_unique<RbacAuthorizer>(rbac_objects));
        if (one.type == Type::AlwaysAllow) made.push_back(std::make_unique<FixedAuthorizer>(Decision::allow()));
        if (one.type == Type::AlwaysDeny)
            made.push_back(std::make_unique<FixedAuthorizer>(Decision::no_opinion("Everything is forbidden.")));
        if (one.type == Type::Webhook) {
            TRY(auto webhook, open_webhook(one.webhook.kubeconfig, {.limits = {.time = one.webhook.timeout}}));
            made.push_back(std::make_unique<WebhookAuthorizer>(std::move(webhook), one.webhook, seams.loop, access_condition_metrics));
        }
    }
    authorizer.use(std::move(made));
    has_webhook_authorizer = has(Type::Webhook);
    return {};
}

}  // namespace porthole::apiserver
