#pragma once
#include <cstddef>

namespace porthole::detail {

/// Memory for the frames of coroutines. A request uses dozens of frames of a kilobyte or more, for which a general allocator is slow: each
/// thread keeps the frames that it freed last, by size, up to a limit. May be freed on another thread.
void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

}  // namespace porthole::detail
