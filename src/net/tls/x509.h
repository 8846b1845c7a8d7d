#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/tls/public_key.h"

namespace porthole::net {

using CertificateTime = std::chrono::sys_time<std::chrono::nanoseconds>;

/// A private key. Copies share the key. Any thread.
class PrivateKey {
public:
    /// Takes up to a few seconds for RSA.
    static PrivateKey generate(KeyType type = KeyType::EcP256);
    /// Error: BadRequest.
    static Result<PrivateKey> parse(const std::string& pem);

    std::string pem() const;         ///< the algorithm's own form, if there is one: "EC PRIVATE KEY"
    std::string pkcs8_pem() const;   ///< "PRIVATE KEY"
    std::string public_der() const;  ///< SubjectPublicKeyInfo

    struct Impl;
    const Impl& impl() const { return *impl_; }

private:
    explicit PrivateKey(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<const Impl> impl_;
};

/// The subject of a certificate.
struct CertificateSubject {
    std::string common_name;
    std::vector<std::string> organizations;
    std::vector<std::string> dns_names, ip_addresses, email_addresses;  ///< addresses of mail are not written
    bool operator==(const CertificateSubject&) const = default;
};

/// Validity and usage of a new certificate.
struct CertificateOptions {
    CertificateTime not_before, not_after;
    bool is_ca = false, for_server = false, for_client = false;
};

/// The contents of a certificate, none of them verified.
struct CertificateInfo {
    CertificateSubject subject;
    std::string issuer_common_name;
    CertificateTime not_before, not_after;
    std::string fingerprint;  ///< SHA-256 of the certificate, lower-case hex
    std::string public_der;   ///< SubjectPublicKeyInfo
    bool is_ca = false;
    std::string key_kind;  ///< "EC", "RSA", "ED25519" or another name of OpenSSL's
    int key_bits = 0;
    std::string subject_key_id, authority_key_id;  ///< lower-case hex; "" if the certificate has none
};

/// Issues certificates, signed with its own. Copies share the key.
class CertificateAuthority {
public:
    /// A new key and a self-signed certificate.
    static CertificateAuthority create(const std::string& common_name, CertificateTime not_before, CertificateTime not_after);
    /// Error: BadRequest if either is invalid or the two do not match.
    static Result<CertificateAuthority> load(const std::string& certificate_pem, const std::string& key_pem);

    const std::string& certificate_pem() const { return certificate_pem_; }
    std::string key_pem() const { return key_.pem(); }

    /// A certificate for `public_der`. Error: BadRequest for an invalid key or address.
    Result<std::string> issue(const std::string& public_der, const CertificateSubject& subject, const CertificateOptions& options) const;
    Result<std::string> issue(const PrivateKey& key, const CertificateSubject& subject, const CertificateOptions& options) const {
        return issue(key.public_der(), subject, options);
    }

private:
    CertificateAuthority(std::string certificate_pem, PrivateKey key)
        : certificate_pem_(std::move(certificate_pem)), key_(std::move(key)) {}
    std::string certificate_pem_;
    PrivateKey key_;
};

/// The first certificate of a PEM text. Error: BadRequest.
Result<CertificateInfo> parse_certificate(const std::string& pem);
/// A certificate with nothing behind it. Error: BadRequest.
Result<CertificateInfo> parse_certificate_der(const std::string& der);

/// The contents of a certificate signing request (PKCS #10).
struct CertificateRequest {
    CertificateSubject subject;
    std::string public_der;
    bool is_signed = false;  ///< with its own key
};
std::string create_certificate_request(const PrivateKey& key, const CertificateSubject& subject);
/// Error: BadRequest, also if the request is not signed with its own key.
Result<CertificateRequest> parse_certificate_request(const std::string& pem);
/// A request with nothing behind it, signed or not. Error: BadRequest.
Result<CertificateRequest> parse_certificate_request_der(const std::string& der);

std::string sha256(std::string_view bytes);
std::string to_hex(std::string_view bytes);

}  // namespace porthole::net
