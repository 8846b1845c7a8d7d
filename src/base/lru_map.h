#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace porthole {

/// At most `most` values by name; a new one replaces the least recently used. Not thread-safe.
template <class V>
class LruMap {
public:
    /// Requires: most > 0.
    explicit LruMap(std::size_t most) : most_(most) {}
    LruMap(LruMap&&) noexcept = default;
    LruMap& operator=(LruMap&&) noexcept = default;

    /// Null if there is none. Valid until the next put() or erase().
    V* find(std::string_view key) {
        const auto found = index_.find(key);
        if (found == index_.end()) return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return &found->second->second;
    }
    /// Adds or replaces. The reference is valid until the next put() or erase().
    V& put(std::string key, V value) {
        if (V* present = find(key)) return *present = std::move(value);
        if (entries_.size() == most_) {
            index_.erase(entries_.back().first);
            entries_.pop_back();
        }
        entries_.emplace_front(std::move(key), std::move(value));
        index_.emplace(entries_.front().first, entries_.begin());
        return entries_.front().second;
    }
    void erase(std::string_view key) {
        const auto found = index_.find(key);
        if (found == index_.end()) return;
        const auto entry = found->second;
        index_.erase(found);
        entries_.erase(entry);
    }
    void clear() {
        index_.clear();
        entries_.clear();
    }
    std::size_t size() const { return entries_.size(); }

private:
    using Entries = std::list<std::pair<std::string, V>>;  // most recently used first
    std::size_t most_;
    Entries entries_;
    std::unordered_map<std::string_view, typename Entries::iterator> index_;  // by the entries' own keys
};

}  // namespace porthole
