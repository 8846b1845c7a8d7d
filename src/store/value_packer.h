#pragma once
#include <string_view>

#include "base/lru_map.h"
#include "store/stored_value.h"

namespace porthole::store {

/// Packs values that are no longer new. The pods of one template, and the events of one component about them, differ in a twentieth of
/// their bytes; so do nodes, leases and most objects that a program makes by the thousand.
///
/// Objects are taken for similar if their keys are equal up to the last '-', or '/' without one: "/pods/a/web-5d8f-x2k7b" is similar to
/// "/pods/a/web-5d8f-qq9zm", and if both have as many KiB: a pod that runs has a status that a new one does not have. The first of them
/// stays as it is, and others are packed as their differences from it. One that differs too much takes its place. A base lives as long as a
/// value refers to it, or until others have been used more recently. Not thread-safe.
class ValuePacker {
public:
    /// The value packed, or as it is if that saves little.
    StoredValue pack(std::string_view key, const StoredValue& value);

private:
    static constexpr std::size_t Bases = 1024;
    LruMap<Bytes> bases_{Bases};  // by the common part of the keys, and KiB
};

}  // namespace porthole::store
