#include "net/tls/openssl.h"
#include "base/time/time.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace porthole::net {
namespace {

std::vector<std::string> subject_values(X509* certificate, int field) {
    std::vector<std::string> values;
    X509_NAME* subject = X509_get_subject_name(certificate);
    for (int at = X509_NAME_get_index_by_NID(subject, field, -1); at >= 0; at = X509_NAME_get_index_by_NID(subject, field, at)) {
        unsigned char* text = nullptr;
        const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        if (size < 0) continue;
        values.emplace_back(reinterpret_cast<char*>(text), size);
        OPENSSL_free(text);
    }
    return values;
}

std::string to_hex(const unsigned char* bytes, unsigned count) {
    constexpr char Digits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned i = 0; i < count; ++i) {
        hex += Digits[bytes[i] >> 4];
        hex += Digits[bytes[i] & 15];
    }
    return hex;
}

}  // namespace

int no_password(char*, int, int, void*) { return 0; }

std::string take_openssl_error() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    const char* text = code ? ERR_reason_error_string(code) : nullptr;
    return text ? text : "";
}

BioPointer read_only_bio(const std::string& text) { return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string bio_to_string(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return std::string(data, static_cast<std::size_t>(size));
}

Result<std::vector<X509Pointer>> parse_certificates(const std::string& pem) {
    std::vector<X509Pointer> certificates;
    const BioPointer bio = read_only_bio(pem);
    while (X509* certificate = PEM_read_bio_X509_AUX(bio.get(), nullptr, no_password, nullptr)) {
        certificates.emplace_back(certificate);
    }
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    const std::string problem = take_openssl_error();
    if (certificates.empty()) return Error(Reason::BadRequest, "no certificate in the PEM text");
    if (!at_end) return Error(Reason::BadRequest, "bad certificate in the PEM text: " + problem);
    return certificates;
}

Result<KeyPointer> parse_private_key(const std::string& pem) {
    const BioPointer bio = read_only_bio(pem);
    KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
    const std::string problem = take_openssl_error();
    if (!key) return Error(Reason::BadRequest, "bad private key in the PEM text: " + problem);
    return key;
}

SystemTime time_of(const ASN1_TIME* time) {
    tm parts{};
    ASN1_TIME_to_tm(time, &parts);
    const std::chrono::year_month_day day(std::chrono::year(parts.tm_year + 1900), std::chrono::month(parts.tm_mon + 1),
                                          std::chrono::day(parts.tm_mday));
    // A certificate without an end says the year 9999.
    return saturated(std::chrono::sys_days(day) + std::chrono::hours(parts.tm_hour) + std::chrono::minutes(parts.tm_min) +
                     std::chrono::seconds(parts.tm_sec));
}

CertificateIdentity identity_of(X509* certificate) {
    CertificateIdentity identity;
    const auto names = subject_values(certificate, NID_commonName);
    if (!names.empty()) identity.common_name = names.back();  // the one that parse_certificate() tells, and Go's library
    identity.organizations = subject_values(certificate, NID_organizationName);
    identity.not_after = time_of(X509_get0_notAfter(certificate));
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &size)) identity.fingerprint = to_hex(digest, size);
    return identity;
}

}  // namespace porthole::net
