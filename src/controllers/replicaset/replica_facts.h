#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "objects/selectors.h"

namespace porthole::controllers {

/// What the status of a set needs of one of its pods. Pods that have it in common are counted by an index of the cache, so that a set with
/// ten thousand pods, most of them packed, decodes none of them to count them.
struct ReplicaFacts {
    enum class Life : char {
        Active = 'a',
        Terminating = 't',  ///< and not terminal
        Over = 'o',
    };
    Life life = Life::Active;
    bool ready = false;
    std::int64_t ready_since = 0;  ///< Unix time, s; 0 if it is unknown
    objects::Labels labels;

    static ReplicaFacts of(const api::core::v1::Pod& pod);
    bool operator==(const ReplicaFacts&) const = default;
};

/// The index keys of a pod: one if a ReplicaSet or ReplicationController owns it, else none.
std::vector<std::string> replica_keys(const api::core::v1::Pod& pod);
/// What the keys of an owner's pods begin with.
std::string replica_key_prefix(const api::meta::v1::ObjectMeta& owner);
/// Of the rest of a key. Nullopt for a text that is none.
std::optional<ReplicaFacts> parse_replica_facts(std::string_view text);

}  // namespace porthole::controllers
