#include "runtime/frame_memory.h"

#include <array>
#include <new>

// An address sanitizer finds a use after free only in what is really freed.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PORTHOLE_FREES_FRAMES 1
#endif
#endif

namespace porthole::detail {
namespace {

constexpr std::size_t Step = 128;                     ///< sizes are rounded up to a multiple of this
constexpr std::size_t LargestFrame = 8 << 10;         ///< larger ones are rare
constexpr std::size_t LargestThreadPool = 512 << 10;  ///< bytes of free frames that a thread keeps

struct FreeFrame {
    FreeFrame* next;
};

/// Free frames of this thread. Usable before it is constructed and after it is destroyed, as both are nothing.
struct ThreadPool {
    std::array<FreeFrame*, LargestFrame / Step> free;  ///< by size: one step, two steps, ...
    std::size_t bytes;
    bool closed;  ///< the thread is ending: nothing is kept any more
};
constinit thread_local ThreadPool pool{};

/// Gives the thread's pool back when the thread ends.
struct PoolCloser {
    ~PoolCloser() {
        pool.closed = true;
        for (FreeFrame*& first : pool.free) {
            while (first) {
                FreeFrame* frame = first;
                first = frame->next;
                ::operator delete(frame);
            }
        }
    }
};

void close_at_thread_end() { static thread_local PoolCloser closer; }

constexpr std::size_t class_of(std::size_t size) { return (size - 1) / Step; }
constexpr std::size_t rounded(std::size_t size) { return (class_of(size) + 1) * Step; }

#ifdef PORTHOLE_FREES_FRAMES
constexpr bool is_pooled(std::size_t) { return false; }
#else
constexpr bool is_pooled(std::size_t size) { return size <= LargestFrame; }
#endif

}  // namespace

void* allocate_frame(std::size_t size) {
    if (!is_pooled(size)) return ::operator new(size);
    FreeFrame*& first = pool.free[class_of(size)];
    if (!first) return ::operator new(rounded(size));
    FreeFrame* frame = first;
    first = frame->next;
    pool.bytes -= rounded(size);
    return frame;
}

void free_frame(void* frame, std::size_t size) noexcept {
    if (!is_pooled(size) || pool.closed || pool.bytes + rounded(size) > LargestThreadPool) return ::operator delete(frame);
    if (pool.bytes == 0) close_at_thread_end();
    FreeFrame*& first = pool.free[class_of(size)];
    first = ::new (frame) FreeFrame{first};
    pool.bytes += rounded(size);
}

}  // namespace porthole::detail
