#pragma once  // private to this folder
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace porthole::store {

/// Keeps the entries of a map of strings in the order of their keys, for ranges; single keys are looked up in the map.
///
/// A tree of keys with equal prefixes fetches memory from distant places at each level. Here, entries are in sorted runs, and each has a
/// mark: the eight bytes of its key after the prefix that all keys of the run share. Marks distinguish nearly all keys. Borrows the
/// entries; an entry must not move, nor its key change, until it is erased. Not thread-safe.
///
/// Example: the run
///   /pods/a/web-1    /pods/a/web-2    /pods/b/db
/// has the prefix "/pods/" and the marks "a/web-1" "a/web-2" "b/db", padded with zeros.
template <class T>
class KeyOrder {
public:
    using Entry = std::pair<const std::string, T>;

    /// `entry` must not move until it is erased. Requires: its key is new.
    void insert(const Entry& entry) {
        if (runs_.empty()) runs_.push_back({.least = "", .common = entry.first.size(), .slots = {}});
        const std::size_t number = run_of(entry.first);
        Run& run = runs_[number];
        if (!run.slots.empty()) limit_common(run, shared_size(run.front(), entry.first));
        const std::size_t at = position(run, entry.first);
        run.slots.insert(run.slots.begin() + static_cast<std::ptrdiff_t>(at), {mark_of(entry.first, run.common), &entry});
        if (run.slots.size() > LongestRun) split(number);
    }

    /// Requires: the key is present.
    void erase(std::string_view key) {
        const std::size_t number = run_of(key);
        Run& run = runs_[number];
        const std::size_t at = position(run, key);
        CHECK(at < run.slots.size() && run.slots[at].entry->first == key);
        run.slots.erase(run.slots.begin() + static_cast<std::ptrdiff_t>(at));
        if (run.slots.empty()) {
            runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(number));
        } else if (number + 1 < runs_.size() && run.slots.size() + runs_[number + 1].slots.size() < LongestRun / 2) {
            join(number);
        }
    }

    /// Visits the keys that start with `prefix`, from the first that is not less than `start`, at most `most` of them, until `visit`
    /// returns false. `visit` must not insert or erase. Returns where it would go on after `most`; null if it has come to the end, or
    /// `visit` has ended it. Requires: `start` is not less than `prefix`.
    template <class Visit>
    const Entry* visit_prefix(std::string_view prefix, std::string_view start, std::size_t most, Visit visit) const {
        if (runs_.empty()) return nullptr;
        std::size_t number = run_of(start);
        std::size_t at = position(runs_[number], start);
        for (; number < runs_.size(); ++number, at = 0) {
            const std::vector<Slot>& slots = runs_[number].slots;
            const std::size_t end = end_of_prefix(runs_[number], prefix, at);
            const std::size_t stop = end - at > most ? at + most : end;
            most -= stop - at;
            for (; at < stop; ++at) {
                if (!visit(*slots[at].entry)) return nullptr;
            }
            if (at < end) return slots[at].entry;
            if (end < slots.size()) return nullptr;
        }
        return nullptr;
    }

private:
    static constexpr std::size_t LongestRun = 256;
    struct Slot {
        std::uint64_t mark;
        const Entry* entry;
    };
    struct Run {
        std::string least;       ///< no key of this run is less, and all keys of earlier runs are
        std::size_t common = 0;  ///< length of the common prefix
        std::vector<Slot> slots;

        const std::string& front() const { return slots.front().entry->first; }
        const std::string& back() const { return slots.back().entry->first; }
    };

    static std::size_t shared_size(std::string_view a, std::string_view b) {
        return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    }

    static std::uint64_t mark_of(std::string_view key, std::size_t common) {
        std::uint64_t mark = 0;
        for (std::size_t i = common; i < common + sizeof mark; ++i)
            mark = mark << 8 | (i < key.size() ? static_cast<std::uint8_t>(key[i]) : 0);
        return mark;
    }

    /// Where the key is or would be.
    std::size_t run_of(std::string_view key) const {
        const auto after = std::ranges::partition_point(runs_, [&](const Run& run) { return run.least <= key; });
        return after == runs_.begin() ? 0 : static_cast<std::size_t>(after - runs_.begin()) - 1;
    }
    static std::size_t position(const Run& run, std::string_view key) {
        if (run.slots.empty()) return 0;
        const int side = key.substr(0, run.common).compare(std::string_view(run.front()).substr(0, run.common));
        if (side != 0) return side < 0 ? 0 : run.slots.size();
        const std::uint64_t mark = mark_of(key, run.common);
        const auto less = [&](const Slot& slot) { return slot.mark != mark ? slot.mark < mark : slot.entry->first < key; };
        return static_cast<std::size_t>(std::ranges::partition_point(run.slots, less) - run.slots.begin());
    }

    /// Where the keys with the prefix end, all of which are from `at` on: the keys of a run are not looked at one by one.
    static std::size_t end_of_prefix(const Run& run, std::string_view prefix, std::size_t at) {
        if (at == run.slots.size() || run.back().starts_with(prefix)) return run.slots.size();
        const auto begin = run.slots.begin() + static_cast<std::ptrdiff_t>(at);
        const auto has_prefix = [&](const Slot& slot) { return slot.entry->first.starts_with(prefix); };
        return static_cast<std::size_t>(std::partition_point(begin, run.slots.end(), has_prefix) - run.slots.begin());
    }

    static void set_common(Run& run, std::size_t common) {
        run.common = common;
        for (Slot& slot : run.slots) slot.mark = mark_of(slot.entry->first, common);
    }
    static void limit_common(Run& run, std::size_t most) {
        if (most < run.common) set_common(run, most);
    }

    void split(std::size_t number) {
        Run& lower = runs_[number];
        const auto middle = lower.slots.begin() + static_cast<std::ptrdiff_t>(lower.slots.size() / 2);
        Run upper{.least = middle->entry->first, .slots = {middle, lower.slots.end()}};
        lower.slots.erase(middle, lower.slots.end());
        set_common(lower, shared_size(lower.front(), lower.back()));
        set_common(upper, shared_size(upper.front(), upper.back()));
        runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
    }

    void join(std::size_t number) {
        Run& lower = runs_[number];
        const auto upper = runs_.begin() + static_cast<std::ptrdiff_t>(number) + 1;
        lower.slots.insert(lower.slots.end(), upper->slots.begin(), upper->slots.end());
        set_common(lower, shared_size(lower.front(), lower.back()));
        runs_.erase(upper);
    }

    std::vector<Run> runs_;  // none of them empty
};

}  // namespace porthole::store
