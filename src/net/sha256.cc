#include "net/sha256.h"

#include "base/result.h"
#include "net/openssl.h"

namespace porthole::net {

struct Sha256::Context {
    DigestContextPointer digest{EVP_MD_CTX_new()};
    void start() { CHECK(EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { context_->start(); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { CHECK(EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()) == 1); }

std::string Sha256::finish_hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_->digest.get(), digest, &size) == 1);
    context_->start();
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        for (const unsigned digit : {digest[i] >> 4U & 15U, digest[i] & 15U}) hex += "0123456789abcdef"[digit];
    }
    return hex;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish_hex();
}

}  // namespace porthole::net
