#include "apiserver/authentication/jwt.h"

#include <gtest/gtest.h>

#include "apiserver/authentication/token_issuer_fixture.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

TEST(ParseJwt, TakesATokenApart) {
    const auto key = net::JwsKey::generate_rsa();
    const auto token = parse_jwt(FakeIssuer::sign(key, R"({"a":1})"));
    ASSERT_TRUE(token);
    EXPECT_EQ(token->algorithm, "RS256");
    EXPECT_EQ(token->key_id, key.key_id());
    EXPECT_EQ(schema::to_json(token->claims), R"({"a":1})");
    EXPECT_TRUE(key.verify(token->signed_part, token->signature));
}

TEST(ParseJwt, TakesNothingElseForOne) {
    const std::string header = encode_base64url(R"({"alg":"RS256"})"), claims = encode_base64url("{}");
    const std::string rows[] = {"",
                                ".",
                                "..",
                                header + "." + claims,
                                header + "." + claims + ".",
                                header + "." + claims + ".c2ln.c2ln",
                                header + "." + claims + ".c2ln=",
                                header + "." + encode_base64url("[]") + ".c2ln",
                                encode_base64url("1") + "." + claims + ".c2ln",
                                encode_base64url(R"({"alg":"RS256","crit":["x"]})") + "." + claims + ".c2ln",
                                header + "." + encode_base64url(std::string(1000, '[')) + ".c2ln",
                                header + "." + std::string(100'000, 'A') + ".c2ln"};
    for (const std::string& row : rows) EXPECT_FALSE(parse_jwt(row)) << row.substr(0, 80);
    EXPECT_TRUE(parse_jwt(header + "." + claims + ".c2ln"));
}

TEST(JsonWebKeys, AreThoseThatCanVerify) {
    const auto key = net::JwsKey::generate_rsa();
    const auto keys = parse_json_web_keys(R"({"keys":[{"kty":"oct","k":"AAAA"},1,{"kty":"RSA","n":"AQAB","e":"AQAB"},)" + key.jwk_json() +
                                          R"(,{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})");
    ASSERT_TRUE(keys);
    ASSERT_EQ(keys->size(), 1u);
    EXPECT_EQ(keys->at(0).id, key.key_id());
    std::string encrypting = key.jwk_json();
    encrypting.replace(encrypting.find("\"sig\""), 5, "\"enc\"");
    EXPECT_TRUE(parse_json_web_keys("{\"keys\":[" + encrypting + "]}")->empty());
    std::string many;
    for (int i = 0; i < 300; ++i) many += (i ? "," : "") + key.jwk_json();
    EXPECT_EQ(parse_json_web_keys("{\"keys\":[" + many + "]}")->size(), 100u);
    for (const char* wrong : {"", "[]", "{}", R"({"keys":{}})", "<html>"}) EXPECT_FALSE(parse_json_web_keys(wrong)) << wrong;
}

struct SignatureTest : testing::Test {
    static std::vector<JsonWebKey> keys_of(const std::string& members) { return *parse_json_web_keys("{\"keys\":[" + members + "]}"); }
    /// The key's member without "kid", or with another.
    static std::string renamed(const net::JwsKey& key, const std::string& id) {
        Value member = *schema::parse_json(key.jwk_json());
        member["kid"] = id;
        if (id.empty()) member.erase("kid");
        return schema::to_json(member);
    }
    static bool accepted(const std::string& token, const std::vector<JsonWebKey>& keys) { return is_signed_by(*parse_jwt(token), keys); }

    const net::JwsKey own = net::JwsKey::generate_rsa(), other = net::JwsKey::generate_rsa();
};

TEST_F(SignatureTest, IsOfTheKeyThatTheTokenNames) {
    const std::string good = FakeIssuer::sign(own, "{}");
    EXPECT_TRUE(accepted(good, keys_of(own.jwk_json())));
    EXPECT_TRUE(accepted(good, keys_of(other.jwk_json() + "," + own.jwk_json())));
    EXPECT_FALSE(accepted(good, keys_of(other.jwk_json())));
    EXPECT_FALSE(accepted(good, {}));
    EXPECT_FALSE(accepted(good, keys_of(renamed(own, "another"))));
    EXPECT_FALSE(accepted(FakeIssuer::sign(other, "{}", R"({"alg":"RS256","kid":")" + own.key_id() + R"("})"), keys_of(own.jwk_json())))
        << "signed by one key, named another";
    const std::string nameless = FakeIssuer::sign(own, "{}", R"({"alg":"RS256"})");
    EXPECT_TRUE(accepted(nameless, keys_of(other.jwk_json() + "," + own.jwk_json()))) << "any of the issuer's keys";
    EXPECT_TRUE(accepted(nameless, keys_of(renamed(own, ""))));
}

TEST_F(SignatureTest, IsOfTheAlgorithmThatTheKeyIsFor) {
    const auto keys = keys_of(own.jwk_json());
    for (const char* algorithm : {"none", "HS256", "RS512", "PS256", "ES256", ""})
        EXPECT_FALSE(accepted(FakeIssuer::sign(own, "{}", R"({"alg":")" + std::string(algorithm) + R"("})"), keys)) << algorithm;
    // The public key as the secret of an algorithm with shared secrets.
    const std::string part = encode_base64url(R"({"alg":"HS256"})") + "." + encode_base64url("{}");
    EXPECT_FALSE(accepted(part + "." + encode_base64url(net::hmac_sha256(own.public_pem(), part)), keys));
    const std::string changed = FakeIssuer::sign(own, R"({"sub":"jane"})");
    const std::size_t dot = changed.find('.'), end = changed.rfind('.');
    EXPECT_FALSE(accepted(changed.substr(0, dot + 1) + encode_base64url(R"({"sub":"root"})") + changed.substr(end), keys));
}

}  // namespace
}  // namespace porthole::apiserver
