#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// One entry of `providers`: how values are encrypted. The first writes; all read.
struct EncryptionProvider {
    enum class Kind { Identity, Secretbox, AesGcm, AesCbc, Kms };
    struct Key {
        std::string name;
        std::string secret;  ///< raw bytes
        bool operator==(const Key&) const = default;
    };
    Kind kind = Kind::Identity;
    std::vector<Key> keys;     ///< the first encrypts; none for Identity and Kms
    std::string name, socket;  ///< of a KMS v2 plug-in
    Duration timeout = std::chrono::seconds(3);

    bool operator==(const EncryptionProvider&) const = default;
};

/// An apiserver.config.k8s.io/v1 EncryptionConfiguration: which resources are encrypted on disk, and how.
/// See apiserver: pkg/apis/apiserver/validation/validation_encryption.go, pkg/server/options/encryptionconfig.
struct EncryptionConfiguration {
    struct Rule {
        std::vector<std::string> resources;  ///< "secrets", "deployments.apps", "*.apps", "*." or "*.*"
        std::vector<EncryptionProvider> providers;
        bool operator==(const Rule&) const = default;
    };
    std::vector<Rule> rules;
    bool operator==(const EncryptionConfiguration&) const = default;

    /// YAML or JSON. Error: BadRequest with all errors, in upstream's messages, without secrets.
    static Result<EncryptionConfiguration> parse(std::string_view text);
    /// Without KMS providers.
    std::string text() const;

    /// The providers for a resource: those of the rules that name it, otherwise of those that name its group, otherwise of those that name
    /// everything. Empty if it is not encrypted.
    std::vector<EncryptionProvider> providers_of(std::string_view group, std::string_view resource) const;
};

/// Writes as `used`, and also reads what `next` writes. Safe to repeat.
EncryptionConfiguration reading_both(const EncryptionConfiguration& used, const EncryptionConfiguration& next);

}  // namespace porthole::apiserver
