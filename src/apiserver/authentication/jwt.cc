#include "apiserver/authentication/jwt.h"

#include <algorithm>

#include "base/base64.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t LongestToken = 64 << 10, MostKeys = 100, Depth = 64;

std::optional<Value> decode_object(std::string_view part) {
    const auto text = decode_base64url(part);
    if (!text) return std::nullopt;
    auto value = schema::parse_json(*text, {.depth = Depth});
    if (!value || !value->is_object()) return std::nullopt;
    return std::move(*value);
}

/// A number or coordinate of a key: "" where the member is missing or not base64url.
std::string member_bytes(const Value& key, const char* name) { return decode_base64url(key.string_at({name})).value_or(""); }

Result<net::JwsVerifier> verifier_of(const Value& key) {
    const std::string_view type = key.string_at({"kty"});
    if (type == "RSA") return net::JwsVerifier::from_rsa(member_bytes(key, "n"), member_bytes(key, "e"));
    if (type == "EC") return net::JwsVerifier::from_ec(key.string_at({"crv"}), member_bytes(key, "x"), member_bytes(key, "y"));
    return Error(Reason::BadRequest, "the type of the key must be RSA or EC");
}

}  // namespace

std::optional<Jwt> parse_jwt(std::string_view token) {
    if (token.size() > LongestToken) return std::nullopt;
    const auto parts = split_views(token, '.');
    if (parts.size() != 3) return std::nullopt;
    auto header = decode_object(parts[0]);
    auto claims = decode_object(parts[1]);
    auto signature = decode_base64url(parts[2]);
    if (!header || !claims || !signature || signature->empty() || header->find("crit")) return std::nullopt;
    return Jwt{.algorithm = std::string(header->string_at({"alg"})),
               .key_id = std::string(header->string_at({"kid"})),
               .claims = std::move(*claims),
               .signed_part = std::string(token.substr(0, parts[0].size() + 1 + parts[1].size())),
               .signature = std::move(*signature)};
}

Result<std::vector<JsonWebKey>> parse_json_web_keys(std::string_view text) {
    TRY(const Value set, schema::parse_json(text, {.depth = Depth}));
    const Value* members = set.find("keys");
    if (!members || !members->is_array()) return Error(Reason::BadRequest, "not a JSON Web Key set");
    std::vector<JsonWebKey> keys;
    for (const Value& member : members->as_array()) {
        if (keys.size() == MostKeys) break;
        if (const Value* use = member.find("use"); use && use->string_or("") != "sig") continue;
        auto verifier = verifier_of(member);
        if (!verifier) continue;
        keys.push_back({.id = std::string(member.string_at({"kid"})),
                        .algorithm = std::string(member.string_at({"alg"})),
                        .key = std::move(*verifier)});
    }
    return keys;
}

bool is_signed_by(const Jwt& token, const std::vector<JsonWebKey>& keys) {
    return std::ranges::any_of(keys, [&](const JsonWebKey& key) {
        if (!token.key_id.empty() && key.id != token.key_id) return false;
        if (!key.algorithm.empty() && key.algorithm != token.algorithm) return false;
        return key.key.verify(token.algorithm, token.signed_part, token.signature);
    });
}

}  // namespace porthole::apiserver
