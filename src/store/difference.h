#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace porthole::store {

inline constexpr std::size_t LongestDifferent = 0xFFFF;  ///< bytes of a value and of its base

/// What `value` has that `base` does not have, and where in `base` the rest of it is. Objects of one template differ in few bytes. Takes
/// time in proportion to both sizes. Requires: neither is larger than LongestDifferent.
///
/// A sequence of parts, with numbers of 16 bits, quick to put together:
///   how many new bytes, size and place of the piece of `base` after them, the new bytes
/// Example: from "pod a of this template, Pending" to "pod b of this template, Pending"
///   5 26 5 "pod b"
std::string difference_from(std::string_view base, std::string_view value);

/// The first `size` bytes of the value. Requires: `difference` is that of a value of at least this size from this `base`.
std::string restored(std::string_view base, std::string_view difference, std::size_t size);

}  // namespace porthole::store
