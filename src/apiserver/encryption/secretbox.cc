#include "apiserver/encryption/secretbox.h"

#include <sodium.h>

namespace porthole::apiserver {
namespace {

constexpr std::size_t NonceSize = crypto_secretbox_NONCEBYTES, TagSize = crypto_secretbox_MACBYTES;

const unsigned char* octets(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* octets(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

void ensure_started() {
    static const bool started = sodium_init() >= 0;
    CHECK(started);
}

}  // namespace

std::string seal_secretbox(std::string_view key, std::string_view plaintext) {
    CHECK(key.size() == crypto_secretbox_KEYBYTES);
    ensure_started();
    std::string sealed(NonceSize + TagSize + plaintext.size(), '\0');
    randombytes_buf(sealed.data(), NonceSize);
    CHECK(crypto_secretbox_easy(octets(sealed) + NonceSize, octets(plaintext), plaintext.size(), octets(sealed), octets(key)) == 0);
    return sealed;
}

Result<std::string> open_secretbox(std::string_view key, std::string_view sealed) {
    CHECK(key.size() == crypto_secretbox_KEYBYTES);
    ensure_started();
    if (sealed.size() < NonceSize + TagSize) return Error(Reason::Forbidden, "the stored data was shorter than the required size");
    const std::string_view body = sealed.substr(NonceSize);
    std::string plaintext(body.size() - TagSize, '\0');
    if (crypto_secretbox_open_easy(octets(plaintext), octets(body), body.size(), octets(sealed), octets(key)) != 0)
        return Error(Reason::Forbidden, "output array was not large enough for encryption");
    return plaintext;
}

}  // namespace porthole::apiserver
