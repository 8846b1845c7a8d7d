#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/stored_value.h"

namespace porthole::store {

/// A point in the store's linear history: every transaction that changes something gets the next one. 0 is before the first. As text it is
/// an object's `resourceVersion`.
struct Revision {
    std::uint64_t value = 0;

    constexpr Revision() = default;
    constexpr explicit Revision(std::uint64_t value) : value(value) {}
    auto operator<=>(const Revision&) const = default;
    constexpr Revision next() const { return Revision(value + 1); }
    /// Requires: value > 0.
    constexpr Revision previous() const { return Revision(value - 1); }
};
inline std::string to_string(Revision revision) { return std::to_string(revision.value); }

/// Identifies a lease; 0 means none.
struct LeaseId {
    std::uint64_t value = 0;

    constexpr LeaseId() = default;
    constexpr explicit LeaseId(std::uint64_t value) : value(value) {}
    auto operator<=>(const LeaseId&) const = default;
    constexpr explicit operator bool() const { return value != 0; }
};

/// What the store's user needs to know about a record without decoding its bytes (labels, selector fields, owners). Computed from key and
/// bytes by an AttributesOf, so that it can be rebuilt when a store is opened. Immutable, shared.
class Attributes {
public:
    virtual ~Attributes() = default;
    /// Lets watchers select a small part of a prefix by index instead of by filter: for a pod, its node's name. The view lives as long as
    /// the object. "" is in no part.
    virtual std::string_view topic() const { return {}; }
};
/// May return null. Called on the store's loop (and on the opening thread), never concurrently.
using AttributesOf = std::function<std::shared_ptr<const Attributes>(std::string_view key, std::string_view value)>;

/// One version of one key. Immutable, shared by readers, watchers and history, all on the store's loop. That loop may pack its value, so
/// keep the value's bytes(), not references to it.
struct Record {
    std::string key;
    mutable StoredValue value;  ///< contains its own revision if the writer requested that
    std::shared_ptr<const Attributes> attributes;
    Revision created;   ///< revision of the first version since the key was last absent
    Revision modified;  ///< of this version
    LeaseId lease;
    std::optional<std::uint32_t> revision_at;  ///< byte offset of the digits of `modified` in `value`
};
using RecordPtr = std::shared_ptr<const Record>;

/// One committed change of one key.
struct Event {
    enum class Type : std::uint8_t { Put, Delete };
    Type type = Type::Put;
    Revision revision;
    /// The new version; for Delete the last version, its bytes stamped with the deletion's revision. Never null.
    RecordPtr record;
    RecordPtr previous;  ///< the version before; null if the key was absent
    bool is_create() const { return type == Type::Put && !previous; }
};
using EventPtr = std::shared_ptr<const Event>;

}  // namespace porthole::store
