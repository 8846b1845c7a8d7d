#include "net/tls/x509.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "net/tls/openssl.h"

namespace porthole::net {

struct PrivateKey::Impl {
    KeyPointer key;
};

namespace {

using BignumPointer = OpensslPointer<BIGNUM, BN_free>;
using ExtensionPointer = OpensslPointer<X509_EXTENSION, X509_EXTENSION_free>;
using RequestPointer = OpensslPointer<X509_REQ, X509_REQ_free>;
using NamePointer = OpensslPointer<X509_NAME, X509_NAME_free>;
using AltNamesPointer = OpensslPointer<GENERAL_NAMES, GENERAL_NAMES_free>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Error openssl_failure(const std::string& what) {
    const std::string why = take_openssl_error();
    return Error(Reason::BadRequest, why.empty() ? what : what + ": " + why);
}

/// What OpenSSL writes through one of its i2d functions.
template <class T, class I2d>
Result<std::string> der(T* object, I2d i2d) {
    unsigned char* bytes = nullptr;
    const int size = i2d(object, &bytes);
    if (size <= 0) return openssl_failure("cannot be encoded");
    std::string text(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return text;
}

/// What OpenSSL writes to a memory BIO.
template <class Write>
std::string written(Write write) {
    const BioPointer bio(BIO_new(BIO_s_mem()));
    CHECK(write(bio.get()) == 1);
    return bio_to_string(bio.get());
}

time_t seconds(CertificateTime time) { return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count(); }

/// Texts may be longer than the 64 characters of X.509, as Go's library allows: names of nodes are.
NamePointer name_of(const CertificateSubject& subject) {
    NamePointer name(X509_NAME_new());
    const auto add = [&](int field, const std::string& value) {
        CHECK(X509_NAME_add_entry_by_NID(name.get(), field, V_ASN1_UTF8STRING, bytes_of(value), static_cast<int>(value.size()), -1, 0) ==
              1);
    };
    for (const std::string& organization : subject.organizations) add(NID_organizationName, organization);
    if (!subject.common_name.empty()) add(NID_commonName, subject.common_name);
    return name;
}

/// The subject's DNS names and addresses; null when it has none. Error: BadRequest for what is no address.
Result<AltNamesPointer> alternative_names(const CertificateSubject& subject) {
    if (subject.dns_names.empty() && subject.ip_addresses.empty()) return AltNamesPointer();
    AltNamesPointer names(sk_GENERAL_NAME_new_null());
    for (const std::string& dns : subject.dns_names) {
        GENERAL_NAME* name = GENERAL_NAME_new();
        ASN1_IA5STRING* text = ASN1_IA5STRING_new();
        ASN1_STRING_set(text, dns.data(), static_cast<int>(dns.size()));
        GENERAL_NAME_set0_value(name, GEN_DNS, text);
        sk_GENERAL_NAME_push(names.get(), name);
    }
    for (const std::string& address : subject.ip_addresses) {
        ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(address.c_str());
        if (!bytes) return openssl_failure("\"" + address + "\" is not a valid IP address");
        GENERAL_NAME* name = GENERAL_NAME_new();
        GENERAL_NAME_set0_value(name, GEN_IPADD, bytes);
        sk_GENERAL_NAME_push(names.get(), name);
    }
    return names;
}

void read_alternative_names(const GENERAL_NAMES* names, CertificateSubject& subject) {
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        int type = 0;
        const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type));
        if (type != GEN_DNS && type != GEN_IPADD && type != GEN_EMAIL) continue;
        const std::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                     static_cast<std::size_t>(ASN1_STRING_length(value)));
        if (type == GEN_DNS) subject.dns_names.emplace_back(bytes);
        if (type == GEN_EMAIL) subject.email_addresses.emplace_back(bytes);
        if (type != GEN_IPADD) continue;
        // OpenSSL prints addresses only through its own extension printer, so the bytes go through inet text here.
        char text[64] = "";
        if (bytes.size() == 4) {
            const unsigned char* b = bytes_of(bytes);
            std::snprintf(text, sizeof text, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
        } else if (bytes.size() == 16) {
            int at = 0;
            for (std::size_t j = 0; j < 16; j += 2) {
                at += std::snprintf(text + at, sizeof text - static_cast<std::size_t>(at), j ? ":%x" : "%x",
                                    static_cast<unsigned>(bytes_of(bytes)[j] << 8 | bytes_of(bytes)[j + 1]));
            }
        }
        subject.ip_addresses.emplace_back(text);
    }
}

std::string hex_of(const ASN1_OCTET_STRING* bytes) {
    if (!bytes) return "";
    return net::to_hex(
        std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(bytes)), static_cast<std::size_t>(ASN1_STRING_length(bytes))));
}

void read_name(X509_NAME* name, CertificateSubject& subject) {
    for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
        X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
        unsigned char* text = nullptr;
        const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
        if (size < 0) continue;
        const std::string value(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
        OPENSSL_free(text);
        const int field = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        if (field == NID_commonName) subject.common_name = value;
        if (field == NID_organizationName) subject.organizations.push_back(value);
    }
}

void add_extension(X509* certificate, int id, const char* value) {
    const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, nullptr, id, value));
    CHECK(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void add_usages(X509* certificate, const CertificateOptions& options) {
    add_extension(certificate, NID_basic_constraints, options.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    add_extension(certificate, NID_key_usage,
                  options.is_ca ? "critical,digitalSignature,keyCertSign" : "critical,digitalSignature,keyEncipherment");
    if (options.for_server && options.for_client) {
        add_extension(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
    } else if (options.for_server || options.for_client) {
        add_extension(certificate, NID_ext_key_usage, options.for_server ? "serverAuth" : "clientAuth");
    }
}

/// By which verifiers find the issuer among authorities of one name; strict ones ask for both.
void add_key_identifiers(X509* certificate, X509* issuer) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, nullptr, nullptr, 0);
    const auto add = [&](int id, const char* value) {
        const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
        CHECK(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
    };
    add(NID_subject_key_identifier, "hash");
    if (issuer && X509_get0_subject_key_id(issuer)) add(NID_authority_key_identifier, "keyid");  // older authorities have none
}

void set_random_serial(X509* certificate) {
    unsigned char bytes[16];
    CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
    bytes[0] &= 0x7f;
    const BignumPointer number(BN_bin2bn(bytes, sizeof bytes, nullptr));
    BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

/// Null for a key whose algorithm has one of its own.
const EVP_MD* digest_for(EVP_PKEY* key) { return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256(); }

/// `issuer` is null for a certificate that signs itself.
Result<std::string> make_certificate(X509* issuer, EVP_PKEY* issuer_key, EVP_PKEY* key, const CertificateSubject& subject,
                                     const CertificateOptions& options) {
    const X509Pointer certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    set_random_serial(certificate.get());
    ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds(options.not_before));
    ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds(options.not_after));
    const NamePointer name = name_of(subject);
    X509_set_subject_name(certificate.get(), name.get());
    X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : name.get());
    X509_set_pubkey(certificate.get(), key);
    add_usages(certificate.get(), options);
    add_key_identifiers(certificate.get(), issuer);
    TRY(const AltNamesPointer names, alternative_names(subject));
    if (names) X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, names.get(), 0, 0);
    if (X509_sign(certificate.get(), issuer_key, digest_for(issuer_key)) == 0) return openssl_failure("cannot sign the certificate");
    return written([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
}

Result<KeyPointer> parse_public_der(const std::string& public_der) {
    const unsigned char* at = bytes_of(public_der);
    KeyPointer key(d2i_PUBKEY(nullptr, &at, static_cast<long>(public_der.size())));
    if (!key) return openssl_failure("bad public key");
    return key;
}

Result<CertificateInfo> info_of(X509* certificate) {
    CertificateInfo info;
    read_name(X509_get_subject_name(certificate), info.subject);
    CertificateSubject issuer;
    read_name(X509_get_issuer_name(certificate), issuer);
    info.issuer_common_name = std::move(issuer.common_name);
    const AltNamesPointer names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    if (names) read_alternative_names(names.get(), info.subject);
    info.not_before = time_of(X509_get0_notBefore(certificate));
    info.not_after = time_of(X509_get0_notAfter(certificate));
    TRY(const std::string whole, der(certificate, i2d_X509));
    info.fingerprint = net::to_hex(net::sha256(whole));
    EVP_PKEY* key = X509_get0_pubkey(certificate);
    if (!key) return openssl_failure("the certificate's public key cannot be read");
    TRY(info.public_der, der(key, i2d_PUBKEY));
    info.is_ca = X509_check_ca(certificate) == 1;
    if (const char* kind = OBJ_nid2sn(EVP_PKEY_base_id(key))) info.key_kind = std::string_view(kind) == "id-ecPublicKey" ? "EC" : kind;
    if (info.key_kind == "rsaEncryption") info.key_kind = "RSA";
    info.key_bits = EVP_PKEY_bits(key);
    info.subject_key_id = hex_of(X509_get0_subject_key_id(certificate));
    info.authority_key_id = hex_of(X509_get0_authority_key_id(certificate));
    return info;
}

Result<CertificateRequest> contents_of(X509_REQ* request) {
    EVP_PKEY* key = X509_REQ_get0_pubkey(request);
    if (!key) return openssl_failure("the public key of the request cannot be read");
    CertificateRequest contents;
    contents.is_signed = X509_REQ_verify(request, key) == 1;
    read_name(X509_REQ_get_subject_name(request), contents.subject);
    TRY(contents.public_der, der(key, i2d_PUBKEY));
    STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(request);
    const AltNamesPointer names(static_cast<GENERAL_NAMES*>(X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr)));
    if (names) read_alternative_names(names.get(), contents.subject);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    ERR_clear_error();
    return contents;
}

/// What one of OpenSSL's d2i functions reads; null unless it is all of `der`.
template <class Pointer, class D2i>
Pointer parse_der(const std::string& der, D2i d2i) {
    const unsigned char* at = bytes_of(der);
    Pointer object(d2i(nullptr, &at, static_cast<long>(der.size())));
    return at == bytes_of(der) + der.size() ? std::move(object) : nullptr;
}

}  // namespace

PrivateKey PrivateKey::generate(KeyType type) {
    const auto make = [type] {
        switch (type) {
            case KeyType::EcP384:
                return EVP_EC_gen("P-384");
            case KeyType::EcP521:
                return EVP_EC_gen("P-521");
            case KeyType::Rsa3072:
                return EVP_RSA_gen(3072);
            case KeyType::Rsa4096:
                return EVP_RSA_gen(4096);
            case KeyType::Ed25519:
                return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
            default:
                return EVP_EC_gen("P-256");
        }
    };
    KeyPointer key(make());
    CHECK(key);
    return PrivateKey(std::make_shared<const Impl>(Impl{std::move(key)}));
}

Result<PrivateKey> PrivateKey::parse(const std::string& pem) {
    TRY(KeyPointer key, parse_private_key(pem));
    return PrivateKey(std::make_shared<const Impl>(Impl{std::move(key)}));
}

std::string PrivateKey::pem() const {
    if (EVP_PKEY_get_base_id(impl_->key.get()) == EVP_PKEY_ED25519) return pkcs8_pem();  // has no other form
    // As Go writes it: clients that look at the first line take a key without the algorithm's name for one of RSA.
    return written(
        [&](BIO* bio) { return PEM_write_bio_PrivateKey_traditional(bio, impl_->key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string PrivateKey::pkcs8_pem() const {
    return written([&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, impl_->key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string PrivateKey::public_der() const {
    auto text = der(impl_->key.get(), i2d_PUBKEY);
    CHECK(text.has_value());
    return std::move(*text);
}

CertificateAuthority CertificateAuthority::create(const std::string& common_name, CertificateTime not_before, CertificateTime not_after) {
    PrivateKey key = PrivateKey::generate();
    EVP_PKEY* raw = key.impl().key.get();
    auto pem = make_certificate(nullptr, raw, raw, {.common_name = common_name},
                                {.not_before = not_before, .not_after = not_after, .is_ca = true});
    CHECK(pem.has_value());
    return CertificateAuthority(std::move(*pem), std::move(key));
}

Result<CertificateAuthority> CertificateAuthority::load(const std::string& certificate_pem, const std::string& key_pem) {
    TRY(const auto certificates, parse_certificates(certificate_pem));
    TRY(PrivateKey key, PrivateKey::parse(key_pem));
    if (X509_check_private_key(certificates.front().get(), key.impl().key.get()) != 1) {
        return openssl_failure("the key does not match the certificate");
    }
    return CertificateAuthority(certificate_pem, std::move(key));
}

Result<std::string> CertificateAuthority::issue(const std::string& public_der, const CertificateSubject& subject,
                                                const CertificateOptions& options) const {
    TRY(const auto certificates, parse_certificates(certificate_pem_));
    TRY(const KeyPointer key, parse_public_der(public_der));
    return make_certificate(certificates.front().get(), key_.impl().key.get(), key.get(), subject, options);
}

Result<CertificateInfo> parse_certificate(const std::string& pem) {
    TRY(const auto certificates, parse_certificates(pem));
    return info_of(certificates.front().get());
}

Result<CertificateInfo> parse_certificate_der(const std::string& der) {
    const X509Pointer certificate = parse_der<X509Pointer>(der, d2i_X509);
    if (!certificate) return openssl_failure("bad certificate");
    return info_of(certificate.get());
}

std::string create_certificate_request(const PrivateKey& key, const CertificateSubject& subject) {
    const RequestPointer request(X509_REQ_new());
    X509_REQ_set_version(request.get(), 0);
    const NamePointer name = name_of(subject);
    X509_REQ_set_subject_name(request.get(), name.get());
    X509_REQ_set_pubkey(request.get(), key.impl().key.get());
    const auto names = alternative_names(subject);
    CHECK(names.has_value());
    if (*names) {
        STACK_OF(X509_EXTENSION)* extensions = nullptr;
        X509V3_add1_i2d(&extensions, NID_subject_alt_name, names->get(), 0, 0);
        X509_REQ_add_extensions(request.get(), extensions);
        sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    }
    CHECK(X509_REQ_sign(request.get(), key.impl().key.get(), digest_for(key.impl().key.get())) > 0);
    return written([&](BIO* bio) { return PEM_write_bio_X509_REQ(bio, request.get()); });
}

Result<CertificateRequest> parse_certificate_request(const std::string& pem) {
    const BioPointer bio = read_only_bio(pem);
    const RequestPointer request(PEM_read_bio_X509_REQ(bio.get(), nullptr, no_password, nullptr));
    if (!request) return openssl_failure("no certificate request in the PEM text");
    TRY(CertificateRequest contents, contents_of(request.get()));
    if (!contents.is_signed) return Error(Reason::BadRequest, "the request is not signed by its own key");
    return contents;
}

Result<CertificateRequest> parse_certificate_request_der(const std::string& der) {
    const RequestPointer request = parse_der<RequestPointer>(der, d2i_X509_REQ);
    if (!request) return openssl_failure("bad certificate request");
    return contents_of(request.get());
}

std::string sha256(std::string_view bytes) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    // Looking the algorithm up each time, as EVP_sha256() does, costs more than a short digest.
    static const OpensslPointer<EVP_MD, EVP_MD_free> algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr));
    CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, algorithm.get(), nullptr) == 1);
    return std::string(reinterpret_cast<char*>(digest), size);
}

std::string to_hex(std::string_view bytes) {
    constexpr char Digits[] = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : bytes) {
        hex += Digits[byte >> 4];
        hex += Digits[byte & 15];
    }
    return hex;
}

}  // namespace porthole::net
