#include "runtime/frame_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace porthole::detail {
namespace {

struct Frame {
    void* memory;
    std::size_t size;
};

std::vector<Frame> make_frames() {
    std::vector<Frame> frames;
    for (const std::size_t size : {1, 127, 128, 129, 1000, 8191, 8192, 8193, 100'000}) {
        for (int i = 0; i < 200; ++i) {
            frames.push_back({allocate_frame(size), size});
            std::memset(frames.back().memory, i, size);
        }
    }
    return frames;
}

void free_frames(const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) free_frame(frame.memory, frame.size);
}

TEST(FrameMemory, NoTwoFramesShareMemory) {
    for (int round = 0; round < 3; ++round) {
        const std::vector<Frame> frames = make_frames();
        int i = 0;
        for (const Frame& frame : frames) {
            const auto* bytes = static_cast<const unsigned char*>(frame.memory);
            EXPECT_EQ(bytes[0], i % 200);
            EXPECT_EQ(bytes[frame.size - 1], i % 200);
            ++i;
        }
        free_frames(frames);
    }
}

TEST(FrameMemory, AFrameMayEndOnAnotherThread) {
    const std::vector<Frame> frames = make_frames();
    std::thread other([&] {
        free_frames(frames);
        free_frames(make_frames());  // from what the thread has kept
    });
    other.join();
}

TEST(FrameMemory, AThreadKeepsFramesOfASizeForTheNext) {
    void* const first = allocate_frame(3000);
    free_frame(first, 3000);
    void* const second = allocate_frame(2950);
    free_frame(second, 2950);
#if !defined(__has_feature) || !__has_feature(address_sanitizer)
    EXPECT_EQ(first, second);
#endif
}

}  // namespace
}  // namespace porthole::detail
