#include "provision/etcd_certificates.h"

#include "base/base64.h"
#include "base/result.h"
#include "node_join/pki_files.h"

namespace porthole::provision {

net::CertificateAuthority new_etcd_authority(SystemTime now) {
    return net::CertificateAuthority::create("porthole-etcd-ca", now - node_join::ClockSkew, now + node_join::AuthorityLife);
}

Result<std::string> issue_for_etcd(const net::CertificateAuthority& authority, const std::string& public_key, const std::string& address,
                                   SystemTime now) {
    TRY(const std::string der, decode_base64(public_key));
    TRY(const auto info, net::parse_certificate(authority.certificate_pem()));
    net::CertificateSubject subject{.common_name = address.empty() ? "porthole-server" : "porthole-etcd"};
    if (!address.empty()) subject.ip_addresses = {address};
    return authority.issue(der, subject,
                           {.not_before = now - node_join::ClockSkew,
                            .not_after = info.not_after,
                            .for_server = !address.empty(),
                            .for_client = true});  // members are clients of each other
}

Result<std::shared_ptr<const net::TlsClientContext>> etcd_client_of_run(const net::CertificateAuthority& authority, SystemTime now) {
    constexpr auto Life = std::chrono::hours(24);
    const auto key = net::PrivateKey::generate();
    TRY(std::string certificate, authority.issue(key, {.common_name = "porthole-provision"},
                                                 {.not_before = now - node_join::ClockSkew, .not_after = now + Life, .for_client = true}));
    return net::TlsClientContext::create(
        {.ca_pem = authority.certificate_pem(), .certificate_pem = std::move(certificate), .key_pem = key.pem()});
}

}  // namespace porthole::provision
