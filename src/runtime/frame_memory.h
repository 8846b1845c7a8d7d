#pragma once
#include <cstddef>

namespace porthole::detail {

/// Memory for the frames of coroutines. A request goes through dozens of frames of a kilobyte or more, which a general allocator
/// serves slowly: each thread keeps those that it freed last, by size, up to a bound. May be freed on another thread.
void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

}  // namespace porthole::detail
