#pragma once
#include <cstdint>
#include <span>

/// Shuffle sharding: every flow is assigned a hand of queues, so that two flows rarely share all of theirs. See KEP-1040, "Queue
/// Assignment".
namespace porthole::apiserver {

/// Bits of a hash that are used at most.
inline constexpr int MaxHashBits = 60;

/// How many bits of a hash are needed to choose any hand.
int required_entropy_bits(std::uint32_t queues, std::uint32_t hand_size);

/// Fills `hand` with different numbers below `queues`; the same hash is always dealt the same hand.
/// Requires: hand.size() <= queues and required_entropy_bits(...) <= MaxHashBits.
void deal(std::uint64_t hash, std::uint32_t queues, std::span<std::uint32_t> hand);

}  // namespace porthole::apiserver
