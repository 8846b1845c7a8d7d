#include "net/tls/password_seal.h"

#include <openssl/evp.h>

#include "net/tls/crypto.h"

namespace porthole::net {
namespace {

constexpr std::string_view Magic = "porthole-sealed:", Version = "1:";
constexpr std::size_t CostSize = 3, SaltSize = 16, KeySize = 32;
constexpr char LogN = 14, R = 8, P = 1;                 // 16 MiB; a token is no word that people choose
constexpr unsigned MinLogN = 14, MaxLogN = 17;          ///< up to 128 MiB: a later version may ask for more than this one
constexpr std::uint64_t MostMemory = 160ULL << 20;      ///< what OpenSSL may take
constexpr std::size_t SmallestBody = 12 + 16;           ///< nonce and tag
constexpr std::size_t LargestSealed = 2 * 1024 * 1024;  ///< more than an etcd takes

std::string derive_key(std::string_view password, const PasswordSeal& seal) {
    std::string key(KeySize, '\0');
    CHECK(EVP_PBE_scrypt(password.data(), password.size(), reinterpret_cast<const unsigned char*>(seal.salt.data()), seal.salt.size(),
                         seal.n, seal.r, seal.p, MostMemory, reinterpret_cast<unsigned char*>(key.data()), key.size()) == 1);
    return key;
}

}  // namespace

Result<PasswordSeal> parse_password_seal(std::string_view sealed) {
    const Error wrong(Reason::BadRequest, "not bytes that were sealed with a password");
    if (sealed.size() > LargestSealed || !sealed.starts_with(Magic)) return wrong;
    std::string_view rest = sealed.substr(Magic.size());
    if (!rest.starts_with(Version)) return Error(Reason::Conflict, "sealed by a newer version of porthole");
    rest.remove_prefix(Version.size());
    if (rest.size() < CostSize + SaltSize + SmallestBody) return wrong;
    const auto byte = [&rest](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
    if (byte(0) < MinLogN || byte(0) > MaxLogN || byte(1) != R || byte(2) != P) return wrong;
    PasswordSeal seal{.n = std::uint64_t{1} << byte(0), .r = byte(1), .p = byte(2), .salt = rest.substr(CostSize, SaltSize)};
    seal.body = rest.substr(CostSize + SaltSize);
    seal.header = sealed.substr(0, sealed.size() - seal.body.size());
    return seal;
}

std::string seal_with_password(std::string_view password, std::string_view plaintext) {
    std::string sealed = std::string(Magic).append(Version).append({LogN, R, P}) + random_bytes(SaltSize);
    const std::string header = sealed;
    const PasswordSeal seal{
        .n = std::uint64_t{1} << LogN, .r = R, .p = P, .salt = std::string_view(header).substr(header.size() - SaltSize)};
    return sealed + seal_aes_gcm(derive_key(password, seal), plaintext, header);
}

Result<std::string> open_with_password(std::string_view password, std::string_view sealed) {
    TRY(const PasswordSeal seal, parse_password_seal(sealed));
    return open_aes_gcm(derive_key(password, seal), seal.body, seal.header);
}

}  // namespace porthole::net
