#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/encryption/storage_cipher.h"

namespace porthole::apiserver {

/// The prefix of every encrypted value on disk, "k8s:enc:secretbox:v1:NAME:" and so on, as upstream's.
inline constexpr std::string_view EncryptedPrefix = "k8s:enc:";

/// Creates the cipher of a KMS provider.
using MakeKmsCipher = std::function<std::shared_ptr<StorageCipher>(const EncryptionProvider& provider)>;

/// How the values of one resource are stored, by the providers of a configuration in their order. The first one writes; the one whose
/// prefix the value has reads. See apiserver: pkg/storage/value/transformer.go. Any thread; immutable.
class ValueTransformer {
public:
    /// Requires: at least one provider.
    ValueTransformer(const std::vector<EncryptionProvider>& providers, const MakeKmsCipher& make_kms);

    using Transformed = StorageCipher::Transformed;
    /// Errors: InternalError.
    Result<Transformed> seal(std::string_view value, std::string_view context) const;
    /// Error: InternalError with upstream's message.
    Result<Transformed> open(std::string_view stored, std::string_view context) const;
    EncryptionKeyId write_key() const;
    Result<void> ready() const;
    /// The keys that this process has: all but those of KMS plug-ins.
    std::vector<EncryptionKeyId> local_keys() const;
    /// Whether there is the key `id`, or, where it is not `local`, a plug-in that may have it.
    bool may_read(EncryptionKeyId id, bool local) const;

private:
    struct Key {
        std::string name_prefix;  ///< "NAME:", "" for KMS
        std::shared_ptr<StorageCipher> cipher;
    };
    struct Provider {
        std::string prefix;  ///< "" for identity
        std::vector<Key> keys;
        const char* no_key = "";
        bool is_kms = false;
    };
    static void open_with(const Provider& provider, std::string_view stored, std::string_view context, Result<Transformed>& opened,
                          std::vector<std::string>& failures);

    std::vector<Provider> providers_;
};

}  // namespace porthole::apiserver
