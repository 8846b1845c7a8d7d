// Keys, certificates and signatures, each by itself: certificate_fuzz has all of them together.
#include "base/base64.h"
#include "fuzz_target.h"
#include "net/tls/crypto.h"
#include "net/tls/jws_verifier.h"
#include "net/tls/x509.h"

using namespace porthole;
using namespace porthole::fuzz;
using namespace porthole::net;

namespace {

std::string pem(const char* kind, std::string_view der) {
    return std::string("-----BEGIN ") + kind + "-----\n" + encode_base64(der) + "\n-----END " + kind + "-----\n";
}

}  // namespace

/// The input is DER, so that not every change breaks its armor.
FUZZ_TARGET(certificate_der_fuzz) { static_cast<void>(parse_certificate(pem("CERTIFICATE", text))); }

FUZZ_TARGET(certificate_request_fuzz) { static_cast<void>(parse_certificate_request(pem("CERTIFICATE REQUEST", text))); }

FUZZ_TARGET(private_key_fuzz) {
    for (const char* kind : {"PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"}) {
        if (const auto key = JwsKey::from_private_pem(pem(kind, text))) expect(JwsKey::from_private_pem(key->private_pem()).has_value());
        if (const auto key = PrivateKey::parse(pem(kind, text))) expect(PrivateKey::parse(key->pem()).has_value());
    }
}

/// Two numbers of a JSON Web Key, a quarter and the rest of the input, and a signature that nobody has made.
FUZZ_TARGET(json_web_key_fuzz) {
    const std::string_view first = text.substr(0, text.size() / 4), second = text.substr(first.size());
    if (const auto key = JwsVerifier::from_ec("P-256", first, second)) static_cast<void>(key->verify("ES256", "payload", second));
    if (const auto key = JwsVerifier::from_rsa(second, first)) static_cast<void>(key->verify("RS256", "payload", second));
}

FUZZ_TARGET(sealed_token_fuzz) {
    const std::string key(32, 'k');
    expect(!open_aes_gcm(key, text, "context").has_value());
    expect(open_aes_gcm(key, seal_aes_gcm(key, text, "context"), "context").value() == text);
}
