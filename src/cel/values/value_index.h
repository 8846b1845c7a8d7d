#pragma once
#include <cstddef>
#include <unordered_map>

#include "cel/values/value.h"

namespace porthole::cel {

/// The places of values, found by hash: 1, 1u and 1.0 are one value. Const operations are thread-safe.
class ValueIndex {
public:
    bool empty() const { return places_.empty(); }
    /// Replaces the place of an equal value.
    void put(const Value& value, std::size_t place, Work& work);
    /// nullptr where there is none.
    const std::size_t* find(const Value& value, Work& work) const;

private:
    struct Entry {
        Value value;
        std::size_t place;
    };
    // By hash, so that comparing those of one hash counts as work.
    std::unordered_multimap<std::size_t, Entry> places_;
};

}  // namespace porthole::cel
