#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace porthole::cel {

/// SipHash-1-3 with a random key per process, so that users cannot choose texts with equal hashes.
std::uint64_t keyed_hash(std::string_view bytes);
std::uint64_t keyed_hash(double number);  ///< 0.0 and -0.0 have one
std::uint64_t keyed_hash(std::int64_t number);
std::uint64_t keyed_hash(std::span<const std::size_t> hashes);

}  // namespace porthole::cel
