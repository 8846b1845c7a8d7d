#include "net/tls/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/base64.h"
#include "net/tls/openssl.h"

namespace porthole::net {
namespace {

constexpr std::size_t LineLength = 64;

struct OpensslMemory {
    void operator()(void* memory) const { OPENSSL_free(memory); }
};
template <class T>
using MemoryPointer = std::unique_ptr<T, OpensslMemory>;

}  // namespace

std::vector<PemBlock> parse_pem(const std::string& text) {
    std::vector<PemBlock> blocks;
    const BioPointer bio = read_only_bio(text);
    for (;;) {
        char *name = nullptr, *header = nullptr;
        unsigned char* data = nullptr;
        long size = 0;
        if (PEM_read_bio(bio.get(), &name, &header, &data, &size) == 1) {
            const MemoryPointer<char> label(name), headers(header);
            const MemoryPointer<unsigned char> bytes(data);
            blocks.push_back({name, *header != '\0', std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size))});
            continue;
        }
        // Each call has read a line at least.
        const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
        ERR_clear_error();
        if (at_end) return blocks;
    }
}

std::string to_pem(std::string_view label, std::string_view bytes) {
    const std::string text = encode_base64(bytes);
    std::string pem = "-----BEGIN " + std::string(label) + "-----\n";
    for (std::size_t at = 0; at < text.size(); at += LineLength) pem += text.substr(at, LineLength) + "\n";
    return pem.append("-----END ").append(label).append("-----\n");
}

}  // namespace porthole::net
