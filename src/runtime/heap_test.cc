#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace porthole {
namespace {

struct Block {
    unsigned char* memory;
    std::size_t size;
};

std::vector<Block> make_blocks() {
    std::vector<Block> blocks;
    for (const std::size_t size : {0, 1, 15, 16, 17, 24, 25, 100, 511, 512, 513, 1000, 100'000}) {
        for (int i = 0; i < 600; ++i) {
            blocks.push_back({static_cast<unsigned char*>(::operator new(size)), size});
            std::memset(blocks.back().memory, i % 200, size);
        }
    }
    return blocks;
}

void free_blocks(const std::vector<Block>& blocks) {
    bool sized = false;
    for (const Block& block : blocks) {
        if (std::exchange(sized, !sized))
            ::operator delete(block.memory, block.size);
        else
            ::operator delete(block.memory);
    }
}

TEST(Heap, NoTwoBlocksShareMemory) {
    for (int round = 0; round < 3; ++round) {
        const std::vector<Block> blocks = make_blocks();
        int i = 0;
        for (const Block& block : blocks) {
            const int expected = i++ % 600 % 200;
            if (block.size == 0) continue;
            EXPECT_EQ(block.memory[0], expected);
            EXPECT_EQ(block.memory[block.size - 1], expected);
        }
        free_blocks(blocks);
    }
}

TEST(Heap, ABlockMayBeFreedOnAnotherThread) {
    std::vector<Block> blocks = make_blocks();
    std::thread([&] {
        free_blocks(blocks);
        blocks = make_blocks();  // in part of what the thread has kept
    }).join();
    free_blocks(blocks);
}

TEST(Heap, AThreadTakesBlocksInTheReverseOrderInWhichItFreedThem) {
    constexpr std::size_t Count = 60, Size = 100;  // the C library keeps seven
    std::vector<void*> first, second;
    for (std::size_t i = 0; i < Count; ++i) first.push_back(::operator new(Size));
    for (void* block : first) ::operator delete(block, Size);
    for (std::size_t i = 0; i < Count; ++i) second.push_back(::operator new(Size));
    for (void* block : second) ::operator delete(block, Size);
#if !defined(__has_feature) || !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.rbegin()));
#endif
}

}  // namespace
}  // namespace porthole
