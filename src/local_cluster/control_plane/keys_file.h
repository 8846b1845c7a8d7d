#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::local_cluster {

/// What is in the keys file of a backup: the secrets of a control plane, as JSON with a digest.
struct KeysFile {
    static constexpr std::size_t Largest = 4 << 20;  ///< bytes of its text
    /// Files of the data directory next to the store and `pki`, as far as they are there.
    static constexpr const char* OtherFiles[] = {"encryption.yaml", "authentication.yaml", "admission.yaml", "cluster.json"};

    std::string cluster;                       ///< the hash of its authority
    std::map<std::string, std::string> files;  ///< contents by name in the data directory: "pki/ca.key", or one of OtherFiles

    std::string text() const;
    /// Error: BadRequest for anything else than such a text, other names of files, and files that are not those that were written.
    static Result<KeysFile> parse(std::string_view text);
    bool operator==(const KeysFile&) const = default;
};

}  // namespace porthole::local_cluster
