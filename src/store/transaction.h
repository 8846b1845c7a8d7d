#pragma once
#include <variant>
#include <vector>

#include "store/record.h"

namespace porthole::store {

/// A condition on one key at the moment of commit.
struct Guard {
    enum class Kind : std::uint8_t { Absent, Present, Unchanged };
    std::string key;
    Kind kind = Kind::Absent;
    Revision modified;  ///< Unchanged: what the key's record must still say

    static Guard absent(std::string key) { return {std::move(key), Kind::Absent, {}}; }
    static Guard present(std::string key) { return {std::move(key), Kind::Present, {}}; }
    static Guard unchanged(std::string key, Revision modified) { return {std::move(key), Kind::Unchanged, modified}; }
};

/// Creates the key's record or replaces it, lease included.
struct Put {
    std::string key;
    std::string value;
    /// The byte offset in `value` at which the decimal digits of the revision, known only at commit, are inserted.
    std::optional<std::uint32_t> revision_at;
    LeaseId lease;
    /// What AttributesOf would yield for the finished bytes, if the caller has it at hand; else it is asked.
    std::shared_ptr<const Attributes> attributes;
};

/// Deleting an absent key changes nothing.
struct Delete {
    std::string key;
};

using Operation = std::variant<Put, Delete>;

/// Operations that happen together, at one revision, if every guard holds; else not at all.
/// Requires: no key twice among the operations, and at most MaxOperations of them.
struct Transaction {
    static constexpr std::size_t MaxOperations = 4096;
    static constexpr std::size_t UsualOperations = 128;  ///< what an etcd takes unless it is told otherwise
    std::vector<Guard> guards;
    std::vector<Operation> operations;
    /// Leads to a deletion, as the write that tells a pod's node to end it does: may go a little beyond the store's quota.
    bool frees = false;
};

/// What a transaction did.
struct Committed {
    /// Of the transaction; the store's current one when nothing changed.
    Revision revision;
    /// One for each operation, in order; null where a Delete found nothing.
    std::vector<EventPtr> events;
};

}  // namespace porthole::store
