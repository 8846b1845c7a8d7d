#include "apiserver/resources/piecewise_range.h"

#include <algorithm>
#include <cstdint>

#include "base/result.h"

namespace porthole::apiserver {
namespace {

/// How many keys to look at between two looks at the clock: as many as take most of a piece. What one takes depends on the selector, and on
/// whether the object has to be decoded for it: the slowest take a millisecond, and the quickest a thousandth of a piece.
class Pace {
public:
    std::size_t keys() const { return keys_; }
    void took(Duration time) {
        if (time < Longest / 8)
            keys_ = std::min(keys_ * 4, Most);
        else if (time < Longest / 2)
            keys_ = std::min(keys_ * 2, Most);
        else if (time > Longest)
            keys_ = std::max<std::size_t>(keys_ / 2, 1);
    }

private:
    static constexpr Duration Longest = std::chrono::microseconds(100);
    static constexpr std::size_t Most = 4096;
    std::size_t keys_ = 8;
};

Result<bool> read_piece(const store::Store& store, const store::RangeRequest& request, std::size_t keys, const LookAtRecords& look,
                        store::Range& range) {
    const std::size_t before = range.records.size();
    TRY(const bool whole, store.read_on(request, range, keys));
    if (look) TRY_VOID(look(std::span(range.records).subspan(before)));
    return whole;
}

}  // namespace

Task<store::Range> read_range(const store::Store& store, store::RangeRequest request, Pieces* pieces, LookAtRecords look) {
    store::Range range;
    Pace pace;
    while (pieces) {
        const MonotonicTime began = pieces->clock.now();
        CO_TRY(const bool whole, read_piece(store, request, pace.keys(), look, range));
        if (whole) co_return range;
        pace.took(pieces->clock.now() - began);
        if (!pieces->work.turn_is_over()) continue;
        if (pieces->pausing) pieces->pausing();
        CO_TRY_VOID(co_await pieces->work.next_turn());
        const bool readable = range.revision >= store.compacted() && range.revision <= store.revision();
        if (!readable && request.revision == store::Revision()) break;
    }
    range = {};
    CO_TRY_VOID(read_piece(store, request, SIZE_MAX, look, range));
    co_return range;
}

}  // namespace porthole::apiserver
