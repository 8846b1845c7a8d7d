#include <cstddef>
#include <cstdint>
#include <string>

#include "net/tls/pem.h"
#include "net/tls/x509.h"

/// Certificates, requests and keys, as PEM and as DER; and what is written as PEM is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::net;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto read = [](const std::string& der) {
        (void)parse_certificate_der(der);
        if (const auto request = parse_certificate_request_der(der); request && !parse_public_key(request->public_der)) __builtin_trap();
        if (const auto key = parse_public_key(der)) (void)is_signature(der, "message", der);
    };
    (void)parse_certificate(text);
    (void)parse_certificate_request(text);
    read(text);
    for (const PemBlock& block : parse_pem(text)) {
        read(block.bytes);
        if (block.bytes.empty()) continue;
        const auto again = parse_pem(to_pem("X", block.bytes));
        if (again.size() != 1 || again[0].bytes != block.bytes) __builtin_trap();
    }
    return 0;
}
