#include "net/tls/x509.h"

#include <gtest/gtest.h>
#include <openssl/ui.h>

#include "base/base64.h"
#include "net/tls/crypto.h"
#include "net/tls/openssl.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

const CertificateTime Start{std::chrono::seconds(1'767'225'600)};

CertificateAuthority authority() { return CertificateAuthority::create("test-ca", Start, Start + 24h); }

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

}  // namespace
}  // namespace porthole::net
