#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/api_server.h"

namespace porthole::apiserver {

/// The command-line flags for authentication, authorization and admission: kube-apiserver's flags of these names, with their defaults.
struct AccessFlags {
    std::vector<std::string> enable_admission_plugins, disable_admission_plugins;
    std::string admission_control_config_file;
    bool windows_strict_admission = false, identify_pod_os = true;

    std::optional<bool> anonymous_auth;
    std::string authentication_config;
    std::string oidc_issuer_url, oidc_client_id, oidc_ca_file, oidc_username_claim = "sub", oidc_username_prefix, oidc_groups_claim,
                                                               oidc_groups_prefix;
    std::vector<std::string> oidc_signing_algs{"RS256"}, oidc_required_claim;
    std::string token_webhook_config_file, token_webhook_version = "v1beta1", token_webhook_cache_ttl = "2m0s";
    std::string requestheader_client_ca_file;
    std::vector<std::string> requestheader_allowed_names, requestheader_username_headers{"X-Remote-User"}, requestheader_uid_headers,
        requestheader_group_headers{"X-Remote-Group"}, requestheader_extra_headers_prefix{"X-Remote-Extra-"};
    std::string proxy_client_cert_file, proxy_client_key_file;

    std::vector<std::string> authorization_mode;  ///< empty: Node,RBAC
    std::string authorization_config;
    std::string authorization_webhook_config_file, authorization_webhook_version = "v1beta1",
                                                   authorization_webhook_cache_authorized_ttl = "5m0s",
                                                   authorization_webhook_cache_unauthorized_ttl = "30s";
};

/// Bytes of a file that these flags name.
constexpr std::size_t LargestAccessFile = 1 << 20;

/// Reads the text of --authentication-config, in addition to these flags; `own_issuers` are those of service accounts' tokens. Error:
/// BadRequest with the file's name.
Result<void> read_authentication_config(std::string_view text, const AccessFlags& flags, const std::vector<std::string>& own_issuers,
                                        AuthenticationOptions& options);

/// Sets `options`, whose issuer is set already, from the flags and the files that they name. Files are read now, once. Error: BadRequest or
/// Io, with the flag or the file.
Result<void> read_access_flags(FileSystem& files, const AccessFlags& flags, ApiServerOptions& options);

}  // namespace porthole::apiserver
