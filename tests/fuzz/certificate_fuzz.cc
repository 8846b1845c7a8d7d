// Certificates, requests for them, keys and signatures, as peers and files bring them.
#include <cstdint>
#include <cstdlib>

#include "net/tls/crypto.h"
#include "net/tls/x509.h"

using namespace porthole::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(parse_certificate(text));
    static_cast<void>(parse_certificate_request(text));
    if (const auto key = PrivateKey::parse(text); key && !PrivateKey::parse(key->pem())) std::abort();
    if (verify_detached_jws(text, "payload", "abcdef", "0123456789abcdef")) std::abort();
    return 0;
}
