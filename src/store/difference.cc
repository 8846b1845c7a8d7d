#include "store/difference.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/result.h"

namespace porthole::store {
namespace {

constexpr std::size_t ShortestPiece = 16;  ///< a shorter one would save less memory than it costs time
constexpr std::size_t Window = 8;          ///< bytes by which pieces are found
constexpr std::size_t Step = 4;            ///< distance of the places of the base that are looked up: every piece of Window + Step is found

std::uint64_t window_at(std::string_view text, std::size_t at) {
    std::uint64_t window = 0;
    std::memcpy(&window, text.data() + at, Window);
    return window;
}

/// Where windows are in the base, by hash; of those with equal hashes, the last.
class Places {
public:
    explicit Places(std::string_view base) : shift_(64 - std::bit_width(base.size() / Step)), places_(std::size_t(1) << (64 - shift_)) {
        for (std::size_t at = 0; at + Window <= base.size(); at += Step)
            places_[slot(window_at(base, at))] = static_cast<std::uint32_t>(at + 1);
    }
    /// A place where the window may be; the base's size if there is none.
    std::size_t find(std::uint64_t window, std::size_t none) const {
        const std::uint32_t place = places_[slot(window)];
        return place == 0 ? none : place - 1;
    }

private:
    std::size_t slot(std::uint64_t window) const { return shift_ == 64 ? 0 : (window * 0x9E3779B97F4A7C15u) >> shift_; }

    int shift_;
    std::vector<std::uint32_t> places_;  // one more than the place; 0: none
};

std::size_t equal_size(std::string_view one, std::string_view other) {
    return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

/// New bytes, which follow it, then a piece of the base.
struct Part {
    std::uint16_t fresh, size, place;
};

void append_part(std::string_view fresh, std::size_t size, std::size_t place, std::string& out) {
    const Part part{static_cast<std::uint16_t>(fresh.size()), static_cast<std::uint16_t>(size), static_cast<std::uint16_t>(place)};
    out.append(reinterpret_cast<const char*>(&part), sizeof part).append(fresh);
}

}  // namespace

std::string difference_from(std::string_view base, std::string_view value) {
    CHECK(base.size() <= LongestDifferent && value.size() <= LongestDifferent);
    const Places places(base);
    std::string out;
    std::size_t written = 0;   // bytes of `value` that `out` has
    std::size_t expected = 0;  // where `base` goes on after the last piece
    for (std::size_t at = 0; at + Window <= value.size();) {
        std::size_t place = expected + (at - written);
        std::size_t size = place < base.size() ? equal_size(value.substr(at), base.substr(place)) : 0;
        if (size < ShortestPiece) {
            place = places.find(window_at(value, at), base.size());
            size = equal_size(value.substr(at), base.substr(place));
        }
        std::size_t before = 0;  // equal bytes in front
        while (before < at - written && before < place && value[at - before - 1] == base[place - before - 1]) ++before;
        if (size + before < ShortestPiece) {
            ++at;
            continue;
        }
        at -= before, place -= before, size += before;
        append_part(value.substr(written, at - written), size, place, out);
        expected = place + size;
        at = written = at + size;
    }
    if (written < value.size()) append_part(value.substr(written), 0, 0, out);
    out.shrink_to_fit();
    return out;
}

std::string restored(std::string_view base, std::string_view difference, std::size_t size) {
    std::string value;
    value.resize_and_overwrite(size, [&](char* out, std::size_t) {
        const char* at = difference.data();
        for (std::size_t left = size; left > 0;) {
            Part part;
            CHECK(at + sizeof part <= difference.data() + difference.size());
            std::memcpy(&part, at, sizeof part);
            at += sizeof part;
            const std::size_t fresh = std::min<std::size_t>(part.fresh, left);
            const std::size_t piece = std::min<std::size_t>(part.size, left - fresh);
            std::memcpy(out, at, fresh);
            std::memcpy(out + fresh, base.data() + part.place, piece);
            at += fresh;
            out += fresh + piece;
            left -= fresh + piece;
        }
        return size;
    });
    return value;
}

}  // namespace porthole::store
