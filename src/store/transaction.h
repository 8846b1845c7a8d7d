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
    Revision modified;  ///< Unchanged: the expected revision of the key's record

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
    /// The result of AttributesOf for the finished bytes, if the caller has it; otherwise it is computed.
    std::shared_ptr<const Attributes> attributes;
};

/// Deleting an absent key changes nothing.
struct Delete {
    std::string key;
};

using Operation = std::variant<Put, Delete>;

/// Operations that are applied together, at one revision, if every guard holds; otherwise none is. Requires: no key appears twice among the
/// operations, and there are at most MaxOperations of them.
struct Transaction {
    static constexpr std::size_t MaxOperations = 4096;
    static constexpr std::size_t UsualOperations = 128;  ///< etcd's default limit
    std::vector<Guard> guards;
    std::vector<Operation> operations;
    /// Leads to a deletion, such as the write that sets a deletionTimestamp: may exceed the store's quota a little.
    bool frees = false;
    /// Its writer can wait: a store that has nothing else to write may take a tenth of a second, to write it together with others.
    bool patient = false;
};

/// The result of a transaction.
struct Committed {
    /// The transaction's revision; the store's current one if nothing changed.
    Revision revision;
    /// One for each operation, in order; null if a Delete found no key.
    std::vector<EventPtr> events;
};

}  // namespace porthole::store
