#include "net/tls/x509.h"

#include <gtest/gtest.h>
#include <openssl/rsa.h>
#include <openssl/ui.h>

#include "base/base64.h"
#include "net/tls/crypto.h"
#include "net/tls/openssl.h"
#include "net/tls/pem.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

const CertificateTime Start{std::chrono::seconds(1'767'225'600)};

CertificateAuthority authority() { return CertificateAuthority::create("test-ca", Start, Start + 24h); }

/// As a kubelet of before Kubernetes 1.36 proves that it has a key.
std::string sign(const PrivateKey& key, std::string_view message) {
    const auto parsed = parse_private_key(key.pem());
    const int kind = EVP_PKEY_get_base_id(parsed->get());
    const DigestContextPointer context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* options = nullptr;
    EXPECT_EQ(EVP_DigestSignInit(context.get(), &options, kind == EVP_PKEY_ED25519 ? nullptr : EVP_sha256(), nullptr, parsed->get()), 1);
    if (kind == EVP_PKEY_RSA) EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING);
    std::string signature(1024, '\0');
    std::size_t size = signature.size();
    EXPECT_EQ(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                             reinterpret_cast<const unsigned char*>(message.data()), message.size()),
              1);
    signature.resize(size);
    return signature;
}

TEST(X509, IssuedCertificatesSayWhatWasAsked) {
    const CertificateSubject subject{.common_name = "system:node:linux-1",
                                     .organizations = {"system:nodes"},
                                     .dns_names = {"linux-1", "localhost"},
                                     .ip_addresses = {"10.89.0.1", "127.0.0.1"}};
    const PrivateKey key = PrivateKey::generate();
    const auto pem =
        authority().issue(key, subject, {.not_before = Start, .not_after = Start + 1h, .for_server = true, .for_client = true});
    ASSERT_TRUE(pem) << pem.error().message;
    const auto info = parse_certificate(*pem);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->subject, subject);
    EXPECT_EQ(info->not_after, Start + 1h);
    EXPECT_EQ(info->public_der, key.public_der());
    EXPECT_FALSE(info->is_ca);
    EXPECT_EQ(info->fingerprint.size(), 64u);
}

TEST(X509, ACertificateWithoutAnEndIsValidForLong) {
    const OpensslPointer<ASN1_TIME, ASN1_TIME_free> never(ASN1_TIME_new());
    ASSERT_EQ(ASN1_TIME_set_string(never.get(), "99991231235959Z"), 1);
    EXPECT_GT(time_of(never.get()), Start + std::chrono::years(200));
}

TEST(X509, AnAuthorityIsReadBackFromItsPem) {
    const CertificateAuthority ca = authority();
    EXPECT_TRUE(parse_certificate(ca.certificate_pem())->is_ca);
    EXPECT_TRUE(CertificateAuthority::load(ca.certificate_pem(), ca.key_pem()));
    const auto mixed = CertificateAuthority::load(ca.certificate_pem(), PrivateKey::generate().pem());
    EXPECT_EQ(mixed.error().reason, Reason::BadRequest);
}

TEST(X509, StrictVerifiersTakeWhatAnAuthorityIssues) {
    const CertificateAuthority ca = authority();
    const auto issued = parse_certificates(ca.issue(PrivateKey::generate(), {.common_name = "server", .dns_names = {"x.test"}},
                                                    {.not_before = Start, .not_after = Start + 1h, .for_server = true})
                                               .value());
    const auto root = parse_certificates(ca.certificate_pem());
    const OpensslPointer<X509_STORE, X509_STORE_free> store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), root->front().get());
    const OpensslPointer<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
    ASSERT_EQ(X509_STORE_CTX_init(context.get(), store.get(), issued->front().get(), nullptr), 1);
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
    X509_STORE_CTX_set_time(context.get(), 0, std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(Start)));
    EXPECT_EQ(X509_verify_cert(context.get()), 1) << X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

TEST(X509, ARequestIsSignedByItsOwnKey) {
    const PrivateKey key = PrivateKey::generate();
    std::string pem = create_certificate_request(key, {.common_name = "x", .organizations = {"a", "b"}, .dns_names = {"x.test"}});
    const auto request = parse_certificate_request(pem);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->subject.organizations, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(request->subject.dns_names, std::vector<std::string>{"x.test"});
    EXPECT_EQ(request->public_der, key.public_der());
    const std::size_t middle = pem.size() / 2;
    pem[middle] = pem[middle] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(parse_certificate_request(pem));
    EXPECT_FALSE(parse_certificate_request("nonsense"));
}

TEST(X509, ALongNameIsInTheRequestAndInTheCertificate) {
    const CertificateSubject subject{.common_name = "system:node:" + std::string(63, 'n') + ".example.com",
                                     .organizations = {std::string(100, 'o')}};
    const auto request = parse_certificate_request(create_certificate_request(PrivateKey::generate(), subject));
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->subject, subject);
    const auto issued = authority().issue(request->public_der, request->subject, {.not_before = Start, .not_after = Start + 1h});
    ASSERT_TRUE(issued) << issued.error().message;
    EXPECT_EQ(parse_certificate(*issued)->subject, subject);
}

TEST(X509, AnEncryptedTextAsksNobodyForItsPassword) {
    static int asked;
    asked = 0;
    const OpensslPointer<UI_METHOD, UI_destroy_method> terminal(UI_create_method("terminal"));
    UI_method_set_opener(terminal.get(), [](UI*) {
        ++asked;
        return 0;
    });
    const UI_METHOD* before = UI_get_default_method();
    UI_set_default_method(terminal.get());
    const auto encrypted = [](const std::string& what) {
        return "-----BEGIN " + what + "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n" +
               "AAAAAAAAAAAAAAAAAAAAAA==\n-----END " + what + "-----\n";
    };
    EXPECT_FALSE(parse_certificate_request(encrypted("CERTIFICATE REQUEST")));
    EXPECT_FALSE(parse_certificate(encrypted("CERTIFICATE")));
    EXPECT_FALSE(PrivateKey::parse(encrypted("EC PRIVATE KEY")));
    EXPECT_FALSE(JwsKey::from_public_pem(encrypted("PUBLIC KEY")));
    UI_set_default_method(before);
    EXPECT_EQ(asked, 0);
}

TEST(X509, RefusesACertificateWhoseKeyNobodyCanRead) {
    const std::string pem = authority().certificate_pem(), curve = "\x2A\x86\x48\xCE\x3D\x03\x01\x07";
    const std::size_t start = pem.find('\n'), end = pem.rfind("-----END");
    std::string text = pem.substr(start, end - start);
    std::erase(text, '\n');
    std::string der = *decode_base64(text);
    const std::size_t at = der.find(curve);
    ASSERT_NE(at, std::string::npos);
    der[at + curve.size() - 1] = '\x7F';  // a curve that there is not
    const auto read = parse_certificate("-----BEGIN CERTIFICATE-----\n" + encode_base64(der) + "\n-----END CERTIFICATE-----\n");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().reason, Reason::BadRequest);
}

TEST(X509, RefusesAddressesThatAreNone) {
    const auto issued = authority().issue(PrivateKey::generate(), {.common_name = "x", .ip_addresses = {"300.1.1.1"}},
                                          {.not_before = Start, .not_after = Start + 1h});
    EXPECT_EQ(issued.error().reason, Reason::BadRequest);
}

TEST(Sha256, IsTheKnownDigest) { EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); }

TEST(X509, KeysOfEachTypeSignRequestsWithoutASubject) {
    using Algorithm = PublicKeyInfo::Algorithm;
    const struct {
        KeyType type;
        Algorithm algorithm;
        int bits;
        const char* curve;
    } rows[] = {{KeyType::EcP256, Algorithm::Ec, 256, "P-256"},
                {KeyType::EcP384, Algorithm::Ec, 384, "P-384"},
                {KeyType::EcP521, Algorithm::Ec, 521, "P-521"},
                {KeyType::Rsa3072, Algorithm::Rsa, 3072, ""},
                {KeyType::Ed25519, Algorithm::Ed25519, 256, ""}};
    for (const auto& row : rows) {
        const PrivateKey key = PrivateKey::generate(row.type);
        const auto info = parse_public_key(key.public_der());
        ASSERT_TRUE(info);
        EXPECT_EQ(info->algorithm, row.algorithm);
        EXPECT_TRUE(row.algorithm == Algorithm::Ed25519 || info->bits == row.bits) << info->bits;
        EXPECT_EQ(info->curve, row.curve);
        EXPECT_TRUE(key.pkcs8_pem().starts_with("-----BEGIN PRIVATE KEY-----\n"));
        EXPECT_EQ(PrivateKey::parse(key.pkcs8_pem())->public_der(), key.public_der());
        const std::string der = parse_pem(create_certificate_request(key, {})).at(0).bytes;
        const auto request = parse_certificate_request_der(der);
        ASSERT_TRUE(request);
        EXPECT_TRUE(request->is_signed);
        EXPECT_EQ(request->public_der, key.public_der());
        EXPECT_EQ(request->subject, CertificateSubject());
        EXPECT_FALSE(parse_certificate_request_der(der + "x")) << "something behind it";
    }
    EXPECT_FALSE(parse_public_key("x"));
}

TEST(X509, PemIsReadBlockByBlock) {
    const std::string a = to_pem("A", "aa"), long_one = to_pem("LONG", std::string(100, 'x'));
    const auto blocks = parse_pem("text\n" + a + "-----BEGIN B-----\n?\n-----END B-----\n" + long_one + "-----BEGIN C-----\nYQ==");
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].label, "A");
    EXPECT_EQ(blocks[0].bytes, "aa");
    EXPECT_FALSE(blocks[0].has_headers);
    EXPECT_EQ(blocks[1].bytes, std::string(100, 'x'));
    const auto headed = parse_pem("-----BEGIN A-----\nKey: value\n\nYWE=\n-----END A-----\n");
    ASSERT_EQ(headed.size(), 1u);
    EXPECT_TRUE(headed[0].has_headers);
    EXPECT_TRUE(parse_pem("").empty());
}

TEST(X509, SignaturesOfAMessageAreVerified) {
    for (const KeyType type : {KeyType::EcP384, KeyType::Rsa3072, KeyType::Ed25519}) {
        const PrivateKey key = PrivateKey::generate(type);
        const std::string signature = sign(key, "uid");
        EXPECT_TRUE(is_signature(key.public_der(), "uid", signature));
        EXPECT_FALSE(is_signature(key.public_der(), "other", signature));
        EXPECT_FALSE(is_signature(PrivateKey::generate(type).public_der(), "uid", signature));
        EXPECT_FALSE(is_signature(key.public_der(), "uid", "x"));
    }
}

}  // namespace
}  // namespace porthole::net
