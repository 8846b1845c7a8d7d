#include "apiserver/access_flags.h"

#include "base/strings.h"
#include "base/time/time.h"

namespace porthole::apiserver {
namespace {

Error refused(const std::string& why) { return Error(Reason::BadRequest, why); }

Result<Duration> duration_of(const char* flag, const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration || *duration < Duration::zero()) return refused(std::string("--") + flag + ": invalid duration " + quote(text));
    return *duration;
}

Result<void> read_admission(FileSystem& files, const AccessFlags& flags, AdmissionOptions& options) {
    options.enabled = flags.enable_admission_plugins;
    options.disabled = flags.disable_admission_plugins;
    options.windows_strict = flags.windows_strict_admission;
    options.identify_pod_os = flags.identify_pod_os;
    if (flags.admission_control_config_file.empty()) return {};
    TRY(options.configurations, read_admission_configurations(files, flags.admission_control_config_file));
    return {};
}

bool uses_oidc_flags(const AccessFlags& flags) {
    const AccessFlags untouched;
    return !flags.oidc_issuer_url.empty() || !flags.oidc_client_id.empty() || !flags.oidc_ca_file.empty() ||
           flags.oidc_username_claim != untouched.oidc_username_claim || !flags.oidc_username_prefix.empty() ||
           !flags.oidc_groups_claim.empty() || !flags.oidc_groups_prefix.empty() ||
           flags.oidc_signing_algs != untouched.oidc_signing_algs || !flags.oidc_required_claim.empty();
}

Result<JwtIssuer> read_oidc_flags(FileSystem& files, const AccessFlags& flags, const std::vector<std::string>& own_issuers) {
    OidcFlags oidc{.issuer_url = flags.oidc_issuer_url,
                   .client_id = flags.oidc_client_id,
                   .ca_pem = {},
                   .username_claim = flags.oidc_username_claim,
                   .username_prefix = flags.oidc_username_prefix,
                   .groups_claim = flags.oidc_groups_claim,
                   .groups_prefix = flags.oidc_groups_prefix,
                   .signing_algorithms = flags.oidc_signing_algs,
                   .required_claims = {}};
    if (!flags.oidc_ca_file.empty()) {
        TRY(oidc.ca_pem, files.read(flags.oidc_ca_file, LargestAccessFile));
    }
    for (const std::string& pair : flags.oidc_required_claim) {
        const std::size_t mark = pair.find('=');
        if (mark == pair.npos || mark == 0) return refused("oidc-required-claim " + quote(pair) + " is not key=value");
        oidc.required_claims[pair.substr(0, mark)] = pair.substr(mark + 1);
    }
    return issuer_of_flags(oidc, own_issuers);
}

Result<void> read_issuers(FileSystem& files, const AccessFlags& flags, const std::vector<std::string>& own_issuers,
                          AuthenticationOptions& options) {
    options.anonymous.enabled = flags.anonymous_auth.value_or(true);
    const bool by_flags = uses_oidc_flags(flags);
    if (!flags.authentication_config.empty()) {
        if (by_flags) return refused("authentication-config file and oidc-* flags are mutually exclusive");
        TRY(const std::string text, files.read(flags.authentication_config, LargestAccessFile));
        TRY_VOID(read_authentication_config(text, flags, own_issuers, options));
    } else if (by_flags) {
        TRY(JwtIssuer issuer, read_oidc_flags(files, flags, own_issuers));
        options.issuers = {std::move(issuer)};
    }
    return {};
}

Result<void> read_token_webhook(const AccessFlags& flags, AuthenticationOptions& options) {
    if (flags.token_webhook_config_file.empty()) return {};
    if (flags.token_webhook_version != "v1" && flags.token_webhook_version != "v1beta1")
        return refused("authentication-token-webhook-version " + quote(flags.token_webhook_version) + " is neither v1 nor v1beta1");
    TRY(const Duration ttl, duration_of("authentication-token-webhook-cache-ttl", flags.token_webhook_cache_ttl));
    options.webhook =
        TokenWebhookOptions{.kubeconfig = flags.token_webhook_config_file, .version = flags.token_webhook_version, .ttl = ttl};
    return {};
}

Result<void> read_request_header(FileSystem& files, const AccessFlags& flags, ApiServerOptions& options) {
    if (flags.requestheader_client_ca_file.empty()) {
        if (!flags.requestheader_allowed_names.empty()) return refused("requestheader-allowed-names needs requestheader-client-ca-file");
        return {};
    }
    if (flags.requestheader_username_headers.empty()) return refused("requestheader-username-headers must not be empty");
    RequestHeaderOptions& header = options.authentication.request_header;
    TRY(header.ca_pem, files.read(flags.requestheader_client_ca_file, LargestAccessFile));
    header.allowed_names = flags.requestheader_allowed_names;
    header.username_headers = flags.requestheader_username_headers;
    header.uid_headers = flags.requestheader_uid_headers;
    header.group_headers = flags.requestheader_group_headers;
    header.extra_prefixes = flags.requestheader_extra_headers_prefix;
    options.bootstrap.front_proxy = {.ca_pem = header.ca_pem,
                                     .allowed_names = header.allowed_names,
                                     .username_headers = header.username_headers,
                                     .uid_headers = header.uid_headers,
                                     .group_headers = header.group_headers,
                                     .extra_prefixes = header.extra_prefixes};
    return {};
}

Result<void> read_proxy_client(FileSystem& files, const AccessFlags& flags, ApiServerOptions& options) {
    if (flags.proxy_client_cert_file.empty() != flags.proxy_client_key_file.empty())
        return refused("proxy-client-cert-file and proxy-client-key-file go together");
    if (flags.proxy_client_cert_file.empty()) return {};
    TRY(options.front_proxy_certificate_pem, files.read(flags.proxy_client_cert_file, LargestAccessFile));
    TRY(options.front_proxy_key_pem, files.read(flags.proxy_client_key_file, LargestAccessFile));
    return {};
}

Result<std::vector<AuthorizerOptions>> read_authorizers(FileSystem& files, const AccessFlags& flags) {
    if (!flags.authorization_config.empty()) {
        if (!flags.authorization_mode.empty() || !flags.authorization_webhook_config_file.empty())
            return refused(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined");
        TRY(const std::string text, files.read(flags.authorization_config, LargestAccessFile));
        return parse_authorization_config(text, flags.authorization_config);
    }
    WebhookAuthorizerOptions webhook{.kubeconfig = flags.authorization_webhook_config_file, .version = flags.authorization_webhook_version};
    TRY(webhook.authorized_ttl,
        duration_of("authorization-webhook-cache-authorized-ttl", flags.authorization_webhook_cache_authorized_ttl));
    TRY(webhook.unauthorized_ttl,
        duration_of("authorization-webhook-cache-unauthorized-ttl", flags.authorization_webhook_cache_unauthorized_ttl));
    const std::vector<std::string> usual{"Node", "RBAC"};
    return authorizers_of_modes(flags.authorization_mode.empty() ? usual : flags.authorization_mode, webhook);
}

}  // namespace

Result<void> read_authentication_config(std::string_view text, const AccessFlags& flags, const std::vector<std::string>& own_issuers,
                                        AuthenticationOptions& options) {
    TRY(AuthenticationFile file, parse_authentication_config(text, flags.authentication_config, own_issuers));
    if (file.anonymous && flags.anonymous_auth)
        return refused("--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file");
    options.anonymous = file.anonymous ? std::move(*file.anonymous) : AnonymousPolicy{.enabled = flags.anonymous_auth.value_or(true)};
    options.issuers = std::move(file.issuers);
    return {};
}

Result<void> read_access_flags(FileSystem& files, const AccessFlags& flags, ApiServerOptions& options) {
    TRY_VOID(read_admission(files, flags, options.admission));
    TRY_VOID(read_issuers(files, flags, options.service_account_issuers, options.authentication));
    TRY_VOID(read_token_webhook(flags, options.authentication));
    TRY_VOID(read_request_header(files, flags, options));
    TRY_VOID(read_proxy_client(files, flags, options));
    TRY(options.authorizers, read_authorizers(files, flags));
    return {};
}

}  // namespace porthole::apiserver
