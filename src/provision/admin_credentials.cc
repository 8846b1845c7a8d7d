#include "provision/admin_credentials.h"

#include "base/base64.h"
#include "net/tls/x509.h"
#include "schema/yaml/yaml.h"

namespace porthole::provision {
namespace {

constexpr std::size_t LongestKubeconfig = 64 << 10;

Result<std::string> pem_of(const schema::Value& kubeconfig, const char* section, const char* body, std::string_view key) {
    const schema::Value& entries = schema::at(kubeconfig, section);
    if (!entries.is_array() || entries.as_array().empty()) return Error(Reason::Io, std::string("it has no ") + section);
    return decode_base64(entries.as_array().front().string_at({body, key}));
}

}  // namespace

Result<AdminCredentials> parse_credentials(const std::string& kubeconfig) {
    if (kubeconfig.size() > LongestKubeconfig) return Error(Reason::Io, "it is longer than 64 KiB");
    TRY(const schema::Value value, schema::parse_yaml(kubeconfig));
    AdminCredentials found;
    TRY(found.ca_pem, pem_of(value, "clusters", "cluster", "certificate-authority-data"));
    TRY(found.certificate_pem, pem_of(value, "users", "user", "client-certificate-data"));
    TRY(found.key_pem, pem_of(value, "users", "user", "client-key-data"));
    TRY_VOID(net::parse_certificate(found.ca_pem));
    TRY_VOID(net::parse_certificate(found.certificate_pem));
    if (found.key_pem.empty()) return Error(Reason::Io, "it has no key");
    return found;
}

}  // namespace porthole::provision
