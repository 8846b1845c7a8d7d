#include "apiserver/flow_control/shuffle_sharding.h"

#include <algorithm>
#include <cmath>

namespace porthole::apiserver {

int required_entropy_bits(std::uint32_t queues, std::uint32_t hand_size) {
    return static_cast<int>(std::ceil(std::log2(static_cast<double>(queues)) * hand_size));
}

void deal(std::uint64_t hash, std::uint32_t queues, std::span<std::uint32_t> hand) {
    hash &= (std::uint64_t{1} << MaxHashBits) - 1;
    for (std::size_t i = 0; i < hand.size(); ++i) {
        const std::uint64_t left = queues - i;  // that have not been dealt
        auto card = static_cast<std::uint32_t>(hash % left);
        hash /= left;
        // The card counts those that are left only. What has been dealt is kept in order, and each below or at the card moves it up by one.
        const auto dealt = hand.first(i);
        std::size_t place = 0;
        while (place < i && dealt[place] <= card) {
            ++card;
            ++place;
        }
        std::copy_backward(dealt.begin() + static_cast<std::ptrdiff_t>(place), dealt.end(),
                           hand.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        hand[place] = card;
    }
}

}  // namespace porthole::apiserver
