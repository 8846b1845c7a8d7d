// What is in etcd, and what comes out of it with the right token, is read or refused; what was read is written and read again the same.
#include <cstdlib>

#include "net/tls/password_seal.h"
#include "node_join/shared_secrets/shared_secrets.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    // The key is not derived: that costs the same for each.
    if (const auto seal = net::parse_password_seal(bytes); seal && seal->header.size() + seal->body.size() != size) std::abort();
    const auto secrets = node_join::SharedSecrets::parse(bytes);
    if (!secrets) return 0;
    const auto again = node_join::SharedSecrets::parse(secrets->text());
    if (!again || *again != *secrets) std::abort();
    return 0;
}
