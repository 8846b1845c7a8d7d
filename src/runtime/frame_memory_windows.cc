#include "runtime/frame_memory.h"

#include <new>

namespace porthole::detail {

// mingw's thread-local variables are looked up by a call each, which costs what a pool would save.
void* allocate_frame(std::size_t size) { return ::operator new(size); }
void free_frame(void* frame, std::size_t) noexcept { ::operator delete(frame); }

}  // namespace porthole::detail
