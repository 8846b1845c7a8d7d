#include "net/tls/crypto.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/tls/jws_verifier.h"
#include "net/tls/x509.h"

namespace porthole::net {
namespace {

TEST(Crypto, MatchesKnownAnswers) {
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Crypto, SealsAndOpens) {
    const std::string key(32, 'k');
    std::string sealed = seal_aes_gcm(key, "a secret", "/secrets/ns/a");
    EXPECT_EQ(open_aes_gcm(key, sealed, "/secrets/ns/a").value(), "a secret");
    EXPECT_FALSE(open_aes_gcm(key, sealed, "/secrets/ns/b"));
    EXPECT_FALSE(open_aes_gcm(std::string(32, 'l'), sealed, "/secrets/ns/a"));
    EXPECT_NE(sealed, seal_aes_gcm(key, "a secret", "/secrets/ns/a"));
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string changed = sealed;
        changed[i] ^= 1;
        EXPECT_FALSE(open_aes_gcm(key, changed, "/secrets/ns/a")) << i;
    }
    EXPECT_FALSE(open_aes_gcm(key, "short", ""));
}

JwsKey ec_key() { return JwsKey::from_private_pem(PrivateKey::generate().pem()).value(); }

TEST(Crypto, AesTakesKeysOfThreeSizes) {
    for (const std::size_t size : {16, 24, 32}) {
        const std::string key(size, 'k');
        EXPECT_EQ(open_aes_gcm(key, seal_aes_gcm(key, "a secret", "c"), "c").value(), "a secret");
        for (const std::size_t length : {0, 1, 15, 16, 17, 4096}) {
            const std::string text(length, 't'), sealed = seal_aes_cbc(key, text);
            EXPECT_EQ(sealed.size(), 16 + (length / 16 + 1) * 16);
            EXPECT_EQ(open_aes_cbc(key, sealed).value(), text);
            EXPECT_FALSE(open_aes_cbc(key, sealed.substr(0, sealed.size() - 1)));
        }
        EXPECT_FALSE(open_aes_cbc(key, ""));
    }
}

TEST(Crypto, HkdfExpandsAsInItsFirstTestCase) {
    const auto from_hex = [](std::string_view hex) {
        std::string bytes;
        for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
        return bytes;
    };
    EXPECT_EQ(hkdf_sha256_expand(from_hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"),
                                 from_hex("f0f1f2f3f4f5f6f7f8f9"), 42),
              from_hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"));
}

TEST(JwsKey, SignsAndVerifies) {
    for (const JwsKey& key : {ec_key(), JwsKey::generate_rsa()}) {
        SCOPED_TRACE(key.algorithm());
        const std::string signature = key.sign("header.payload");
        const JwsKey parsed = JwsKey::from_private_pem(key.private_pem()).value();
        const JwsKey known = JwsKey::from_public_pem(key.public_pem()).value();
        EXPECT_TRUE(known.verify("header.payload", signature));
        EXPECT_FALSE(known.verify("header.payloaD", signature));
        EXPECT_FALSE(known.verify("header.payload", signature.substr(1)));
        EXPECT_FALSE(known.verify("header.payload", ""));
        EXPECT_TRUE(known.verify("x", parsed.sign("x")));
        EXPECT_EQ(known.key_id(), key.key_id());
        EXPECT_FALSE(known.is_private());
    }
}

/// The bytes of a text member of a flat JSON object.
std::string member_of(const std::string& json, const std::string& name) {
    const std::size_t begin = json.find('"' + name + "\":\"") + name.size() + 4;
    return decode_base64url(std::string_view(json).substr(begin, json.find('"', begin) - begin)).value();
}

TEST(JwsKey, SaysItsNumbersAsAWebKey) {
    const JwsKey ec = ec_key(), rsa = JwsKey::generate_rsa();
    const std::string ec_jwk = ec.jwk_json(), rsa_jwk = rsa.jwk_json();
    EXPECT_TRUE(JwsVerifier::from_ec("P-256", member_of(ec_jwk, "x"), member_of(ec_jwk, "y"))->verify("ES256", "a", ec.sign("a")));
    EXPECT_TRUE(JwsVerifier::from_rsa(member_of(rsa_jwk, "n"), member_of(rsa_jwk, "e"))->verify("RS256", "a", rsa.sign("a")));
    EXPECT_NE(ec_jwk.find(R"("alg":"ES256","kty":"EC","crv":"P-256","x":")"), std::string::npos);
    EXPECT_NE(rsa_jwk.find(R"("alg":"RS256","kty":"RSA","n":")"), std::string::npos);
}

TEST(JwsKey, RefusesWeakAndStrangeKeys) {
    EXPECT_FALSE(JwsKey::from_private_pem(JwsKey::generate_rsa(1024).private_pem()));
    EXPECT_FALSE(JwsKey::from_public_pem("nonsense"));
}

// Computed with Python's hmac and base64: header {"alg":"HS256","kid":"abcdef"}, payload "hello", key "0123456789abcdef".
constexpr const char* Known = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..MxsnbCjBaYzcbNIFa06F-wuF9LX26rhMlrL4zA1511s";

TEST(DetachedJws, SignsAsOthersDo) { EXPECT_EQ(sign_detached_jws("hello", "abcdef", "0123456789abcdef"), Known); }

TEST(DetachedJws, HoldsOnlyForThePayloadKeyAndIdItWasMadeWith) {
    EXPECT_TRUE(verify_detached_jws(Known, "hello", "abcdef", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hallo", "abcdef", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hello", "abcdeg", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hello", "abcdef", "0123456789abcdeg"));
    EXPECT_FALSE(verify_detached_jws("", "hello", "abcdef", "0123456789abcdef"));
}

}  // namespace

}  // namespace porthole::net
