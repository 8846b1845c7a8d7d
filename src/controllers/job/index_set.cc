#include "controllers/job/index_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace porthole::controllers {
namespace {

std::optional<std::int32_t> to_index(std::string_view text) {
    std::int32_t index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size() || index < 0) return std::nullopt;
    return index;
}

}  // namespace

IndexSet IndexSet::parse(std::string_view text, std::int32_t limit) {
    IndexSet set;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const std::size_t dash = item.find('-');
        const auto first = to_index(item.substr(0, dash));
        const auto last = dash == item.npos ? first : to_index(item.substr(dash + 1));
        if (!first || !last || *first > *last || *first >= limit) continue;
        set.ranges_.push_back({*first, std::min(*last, limit - 1)});
    }
    std::ranges::sort(set.ranges_, {}, &Range::first);
    std::size_t kept = 0;
    for (const Range& range : set.ranges_) {
        if (kept > 0 && range.first <= set.ranges_[kept - 1].last + 1)
            set.ranges_[kept - 1].last = std::max(set.ranges_[kept - 1].last, range.last);
        else
            set.ranges_[kept++] = range;
    }
    set.ranges_.resize(kept);
    return set;
}

void IndexSet::insert(std::int32_t index) {
    const auto next = std::ranges::upper_bound(ranges_, index, {}, &Range::first);
    const bool has_previous = next != ranges_.begin(), has_next = next != ranges_.end();
    if (has_previous && std::prev(next)->last >= index) return;
    const bool joins_previous = has_previous && std::prev(next)->last + 1 == index, joins_next = has_next && next->first == index + 1;
    if (joins_previous && joins_next) {
        std::prev(next)->last = next->last;
        ranges_.erase(next);
    } else if (joins_previous) {
        std::prev(next)->last = index;
    } else if (joins_next) {
        next->first = index;
    } else {
        ranges_.insert(next, {index, index});
    }
}

bool IndexSet::contains(std::int32_t index) const {
    const auto next = std::ranges::upper_bound(ranges_, index, {}, &Range::first);
    return next != ranges_.begin() && std::prev(next)->last >= index;
}

std::int32_t IndexSet::first_absent(std::int32_t index) const {
    const auto next = std::ranges::upper_bound(ranges_, index, {}, &Range::first);
    return next != ranges_.begin() && std::prev(next)->last >= index ? std::prev(next)->last + 1 : index;
}

std::int32_t IndexSet::size() const {
    std::int32_t count = 0;
    for (const Range& range : ranges_) count += range.last - range.first + 1;
    return count;
}

std::int32_t IndexSet::size_of_common(const IndexSet& other) const {
    std::int32_t count = 0;
    for (auto ours = ranges_.begin(), theirs = other.ranges_.begin(); ours != ranges_.end() && theirs != other.ranges_.end();) {
        count += std::max(0, std::min(ours->last, theirs->last) - std::max(ours->first, theirs->first) + 1);
        ++(ours->last < theirs->last ? ours : theirs);
    }
    return count;
}

std::string IndexSet::to_string() const {
    std::string text;
    for (const auto& [first, last] : ranges_) {
        if (!text.empty()) text += ',';
        text += std::to_string(first);
        if (last > first) text += (last > first + 1 ? "-" : ",") + std::to_string(last);
    }
    return text;
}

}  // namespace porthole::controllers
