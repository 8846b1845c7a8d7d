#include "net/crypto.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/x509.h"

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
    EXPECT_TRUE(JwsKey::from_ec_point(member_of(ec_jwk, "x"), member_of(ec_jwk, "y"))->verify("a", ec.sign("a")));
    EXPECT_TRUE(JwsKey::from_rsa_numbers(member_of(rsa_jwk, "n"), member_of(rsa_jwk, "e"))->verify("a", rsa.sign("a")));
    EXPECT_FALSE(JwsKey::from_ec_point(std::string(32, 'x'), std::string(32, 'y')));  // not on the curve
    EXPECT_NE(ec_jwk.find(R"("alg":"ES256","kty":"EC","crv":"P-256","x":")"), std::string::npos);
    EXPECT_NE(rsa_jwk.find(R"("alg":"RS256","kty":"RSA","n":")"), std::string::npos);
}

TEST(JwsKey, RefusesWeakAndStrangeKeys) {
    EXPECT_FALSE(JwsKey::from_private_pem(JwsKey::generate_rsa(1024).private_pem()));
    EXPECT_FALSE(JwsKey::from_public_pem("nonsense"));
}

}  // namespace
}  // namespace porthole::net
