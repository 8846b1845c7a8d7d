// Configuration files of the API server.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apiserver/audit/audit_policy.h"
#include "apiserver/encryption/storage_encryption.h"

namespace {

using namespace porthole;
using namespace porthole::apiserver;

void read_policy(std::string_view text) {
    std::vector<std::string> warnings;
    const auto policy = AuditPolicy::parse(text, warnings);
    if (!policy) return;
    const User user{.name = "jane", .groups = {"dev"}};
    for (const char* path : {"/api/v1/namespaces/a/pods/p/log", "/apis/apps/v1/deployments", "/healthz"})
        (void)policy->decide(&user, parse_request_info("GET", path, ""), false);
}

void read_encryption(std::string_view text) {
    const auto configuration = EncryptionConfiguration::parse(text);
    if (!configuration) return;
    StorageEncryption encryption([](const EncryptionProvider&) {
        return std::shared_ptr<StorageCipher>(make_key_cipher(EncryptionProvider::Kind::AesGcm, {"kms", std::string(32, 'k')}));
    });
    CHECK(encryption.use(*configuration).has_value());
    const std::string key = "/registry/core/secrets/ns/a";
    const auto held = encryption.hold();
    if (!encryption.covers(key)) return;
    const auto sealed = encryption.seal(key, "{}");
    CHECK(sealed.has_value());
    // Without identity a plain value cannot be read, and a key of another rule may shadow none here: what was written is read.
    const auto opened = encryption.open(key, sealed->bytes);
    CHECK(opened.has_value() && opened->bytes == "{}");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_policy(text);
    read_encryption(text);
    return 0;
}
