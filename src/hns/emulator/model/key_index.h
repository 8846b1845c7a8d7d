#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace porthole::hns::emulator {

/// Finds objects by their properties, since searching thousands of them would cost more than the call itself. Copies share everything that
/// neither has changed. Borrows the objects.
///
/// Keys are hashes: results have to be checked.
template <class T>
class KeyIndex {
public:
    using Key = std::uint64_t;

    std::vector<const T*> find(Key key) const {
        std::vector<const T*> found;
        if (const auto& shard = (*shards_)[key % Shards]) {
            for (const auto& [held, object] : *shard)
                if (held == key) found.push_back(object);
        }
        return found;
    }
    void add(Key key, const T& object) { edit(key).emplace_back(key, &object); }
    /// Requires: it was added.
    void remove(Key key, const T& object) { std::erase(edit(key), std::pair(key, &object)); }

private:
    static constexpr std::size_t Shards = 256;
    using Shard = std::vector<std::pair<Key, const T*>>;
    using ShardArray = std::array<std::shared_ptr<Shard>, Shards>;  // null for an empty one

    Shard& edit(Key key) {
        if (shards_.use_count() > 1) shards_ = std::make_shared<ShardArray>(*shards_);
        std::shared_ptr<Shard>& shard = (*shards_)[key % Shards];
        if (!shard || shard.use_count() > 1) shard = shard ? std::make_shared<Shard>(*shard) : std::make_shared<Shard>();
        return *shard;
    }

    std::shared_ptr<ShardArray> shards_ = std::make_shared<ShardArray>();
};

/// Numbers in use; finds the smallest free one.
class NumberSet {
public:
    void add(std::uint32_t number) {
        if (number >= Limit) return;
        if (number / 64 >= words_.size()) words_.resize(number / 64 + 1);
        words_[number / 64] |= std::uint64_t{1} << number % 64;
    }
    void remove(std::uint32_t number) {
        if (number / 64 < words_.size()) words_[number / 64] &= ~(std::uint64_t{1} << number % 64);
    }
    /// Above 0.
    std::uint32_t smallest_free() const {
        for (std::uint32_t number = 1;; ++number) {
            const std::size_t word = number / 64;
            if (word >= words_.size()) return number;
            if (number % 64 == 0 && words_[word] == ~std::uint64_t{0})
                number += 63;
            else if ((words_[word] >> number % 64 & 1) == 0)
                return number;
        }
    }

private:
    static constexpr std::uint32_t Limit = 1 << 20;  // a damaged file may contain any number
    std::vector<std::uint64_t> words_;
};

}  // namespace porthole::hns::emulator
