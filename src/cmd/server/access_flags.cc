#include "cmd/server/access_flags.h"

#include "base/strings.h"

namespace porthole::cmd {
namespace {

void add_list(CLI::App& app, const char* name, std::vector<std::string>& target, const std::string& help) {
    // As it is typed; CLI11's own text of a list has brackets.
    app.add_option(name, target, help)->delimiter(',')->default_str(join(target, ","));
}

void add_admission_flags(CLI::App& app, apiserver::AccessFlags& flags) {
    add_list(app, "--enable-admission-plugins", flags.enable_admission_plugins,
             "admission plugins to run in addition, by comma; " + apiserver::admission_plugin_help());
    add_list(app, "--disable-admission-plugins", flags.disable_admission_plugins, "admission plugins to turn off, separated by commas");
    app.add_option("--admission-control-config-file", flags.admission_control_config_file,
                   "file with the plugins' configurations (AdmissionConfiguration of apiserver.config.k8s.io/v1)");
    app.add_flag("--windows-strict-admission", flags.windows_strict_admission,
                 "refuse pods for Windows, and their workloads, if Windows nodes would refuse or ignore a field, instead of warning");
}

void add_issuer_flags(CLI::App& app, apiserver::AccessFlags& flags) {
    app.add_option("--anonymous-auth", flags.anonymous_auth, "whether to accept requests without a credential, as system:anonymous")
        ->default_str("true");
    app.add_option("--authentication-config", flags.authentication_config,
                   "file with token issuers and rules for anonymous requests (AuthenticationConfiguration of apiserver.config.k8s.io/v1)");
    app.add_option("--oidc-issuer-url", flags.oidc_issuer_url, "https URL of an OpenID Connect issuer whose tokens are accepted");
    app.add_option("--oidc-client-id", flags.oidc_client_id, "audience that its tokens must have");
    app.add_option("--oidc-ca-file", flags.oidc_ca_file,
                   "file of the authority that signed its certificate (default: the system's authorities)");
    app.add_option("--oidc-username-claim", flags.oidc_username_claim, "claim with the user's name")->capture_default_str();
    app.add_option("--oidc-username-prefix", flags.oidc_username_prefix,
                   "prefix of the name; \"-\" for none (default: the issuer's URL and \"#\", none for the claim email)");
    app.add_option("--oidc-groups-claim", flags.oidc_groups_claim, "claim with the user's groups");
    app.add_option("--oidc-groups-prefix", flags.oidc_groups_prefix, "prefix of each group");
    add_list(app, "--oidc-signing-algs", flags.oidc_signing_algs, "algorithms that tokens may be signed with, separated by commas");
    app.add_option("--oidc-required-claim", flags.oidc_required_claim, "key=value that a token must have; may be repeated");
}

void add_authentication_flags(CLI::App& app, apiserver::AccessFlags& flags) {
    app.add_option("--authentication-token-webhook-config-file", flags.token_webhook_config_file,
                   "kubeconfig for a server that checks bearer tokens, by TokenReview");
    app.add_option("--authentication-token-webhook-version", flags.token_webhook_version, "version of the TokenReview: v1 or v1beta1")
        ->capture_default_str();
    app.add_option("--authentication-token-webhook-cache-ttl", flags.token_webhook_cache_ttl, "how long its answers are cached")
        ->capture_default_str();
    app.add_option("--requestheader-client-ca-file", flags.requestheader_client_ca_file,
                   "file of the authority that signs the certificates of authenticating proxies");
    add_list(app, "--requestheader-allowed-names", flags.requestheader_allowed_names,
             "common names of the proxies' certificates, separated by commas (default: any)");
    add_list(app, "--requestheader-username-headers", flags.requestheader_username_headers,
             "headers with the user's name, separated by commas");
    add_list(app, "--requestheader-uid-headers", flags.requestheader_uid_headers, "headers with the user's uid, separated by commas");
    add_list(app, "--requestheader-group-headers", flags.requestheader_group_headers,
             "headers with the user's groups, separated by commas");
    add_list(app, "--requestheader-extra-headers-prefix", flags.requestheader_extra_headers_prefix,
             "prefixes of headers with extra data about the user, separated by commas");
    app.add_option("--proxy-client-cert-file", flags.proxy_client_cert_file,
                   "file of the client certificate for extension API servers (default: the cluster's front proxy certificate)");
    app.add_option("--proxy-client-key-file", flags.proxy_client_key_file, "file of that certificate's key");
}

void add_authorization_flags(CLI::App& app, apiserver::AccessFlags& flags) {
    add_list(app, "--authorization-mode", flags.authorization_mode,
             "authorizers in order, separated by commas: AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook (default Node,RBAC)");
    app.add_option(
        "--authorization-config", flags.authorization_config,
        "file with the authorizers, instead of the other --authorization flags (AuthorizationConfiguration of apiserver.config.k8s.io/v1)");
    app.add_option("--authorization-webhook-config-file", flags.authorization_webhook_config_file,
                   "kubeconfig for the server that the mode Webhook asks, by SubjectAccessReview");
    app.add_option("--authorization-webhook-version", flags.authorization_webhook_version,
                   "version of the SubjectAccessReview: v1 or v1beta1")
        ->capture_default_str();
    app.add_option("--authorization-webhook-cache-authorized-ttl", flags.authorization_webhook_cache_authorized_ttl,
                   "how long its answers that allow a request are cached")
        ->capture_default_str();
    app.add_option("--authorization-webhook-cache-unauthorized-ttl", flags.authorization_webhook_cache_unauthorized_ttl,
                   "how long its other answers are cached")
        ->capture_default_str();
}

}  // namespace

void add_access_flags(CLI::App& app, apiserver::AccessFlags& flags) {
    add_issuer_flags(app, flags);
    add_authentication_flags(app, flags);
    add_authorization_flags(app, flags);
    add_admission_flags(app, flags);
}

}  // namespace porthole::cmd
