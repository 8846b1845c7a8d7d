#include <array>
#include <cstdlib>
#include <new>

#include <malloc.h>

// operator new and delete of the program: each thread keeps the small blocks that it freed last, by size. The C library keeps seven of a
// size, and a request frees dozens at its end: all others took the long way, which for some requests was a fifth of all instructions.
// Larger blocks, those of C libraries, and what a thread frees beyond its share are left to malloc. A block may be freed on another thread.
//
// Not in programs with a sanitizer: those find a use after free only in what is really freed.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PORTHOLE_PLAIN_HEAP 1
#endif
#endif

#ifndef PORTHOLE_PLAIN_HEAP
namespace {

// Sizes are those of malloc on 64-bit machines, so that no block is larger than there: 24, 40, 56 bytes and so on.
constexpr std::size_t Least = 24, Step = 16;
constexpr std::size_t Classes = 32;               ///< of sizes, up to 520 bytes: larger blocks are rare
constexpr std::size_t BytesOfOneSize = 16 << 10;  ///< that a thread keeps free

struct FreeBlock {
    FreeBlock* next;
};
struct FreeBlocks {
    FreeBlock* first;
    std::size_t bytes;
};

/// Free blocks of this thread. Usable before it is constructed and after it is destroyed, as both are nothing.
struct ThreadHeap {
    std::array<FreeBlocks, Classes> free;
    bool watched;  ///< that the thread ends
    bool closed;   ///< the thread is ending: nothing is kept any more
};
constinit thread_local ThreadHeap heap{};

/// Gives the thread's blocks back when the thread ends.
struct HeapCloser {
    ~HeapCloser() {
        heap.closed = true;
        for (FreeBlocks& blocks : heap.free)
            while (FreeBlock* block = blocks.first) {
                blocks.first = block->next;
                std::free(block);
            }
    }
};

void close_at_thread_end() {
    heap.watched = true;
    static thread_local HeapCloser closer;
}

/// The least class whose blocks have room for so many bytes.
constexpr std::size_t class_for(std::size_t size) { return size <= Least ? 0 : (size - Least + Step - 1) / Step; }
constexpr std::size_t size_of(std::size_t size_class) { return Least + size_class * Step; }

void* allocate(std::size_t size) {
    if (void* block = std::malloc(size)) return block;
    throw std::bad_alloc();
}

/// The block is of this class, or larger.
void keep_or_free(void* block, std::size_t size_class) noexcept {
    if (size_class >= Classes) return std::free(block);
    FreeBlocks& blocks = heap.free[size_class];
    if (blocks.bytes >= BytesOfOneSize || heap.closed) return std::free(block);
    if (!heap.watched) close_at_thread_end();
    blocks.first = ::new (block) FreeBlock{blocks.first};
    blocks.bytes += size_of(size_class);
}

}  // namespace

void* operator new(std::size_t size) {
    const std::size_t size_class = class_for(size);
    if (size_class >= Classes) return allocate(size);
    FreeBlocks& blocks = heap.free[size_class];
    FreeBlock* block = blocks.first;
    if (!block) return allocate(size_of(size_class));
    blocks.first = block->next;
    blocks.bytes -= size_of(size_class);
    return block;
}

void operator delete(void* block, std::size_t size) noexcept {
    if (block) keep_or_free(block, class_for(size));
}

void operator delete(void* block) noexcept {
    if (block) keep_or_free(block, (::malloc_usable_size(block) - Least) / Step);
}
#endif
