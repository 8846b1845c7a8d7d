#include "winhost/tools/pipe_frames.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

TEST(PipeFrames, ArriveWholeFromAnyPieces) {
    const std::string bytes = encode_pipe_frame(PipeFrameType::Open, 7, 2u) + encode_pipe_frame(PipeFrameType::Part, 7, "half a ") +
                              encode_pipe_frame(PipeFrameType::Data, 7, "") + encode_pipe_frame(PipeFrameType::Close, 7, 109u);
    PipeFrameReader reader;
    std::string seen;
    for (const char byte : bytes) {
        reader.add({&byte, 1});
        while (const auto frame = reader.next()) {
            EXPECT_EQ(frame->channel, 7u);
            const bool text = frame->type == PipeFrameType::Part || frame->type == PipeFrameType::Data;
            seen += std::to_string(static_cast<int>(frame->type)) + ":" + (text ? frame->payload : std::to_string(frame->number())) + ";";
        }
    }
    EXPECT_EQ(seen, "2:2;3:half a ;4:;6:109;");
}

TEST(PipeFrames, NonsenseEndsTheReading) {
    struct {
        const char* name;
        std::string bytes;
    } const rows[] = {
        {"unknown type", std::string("\x07\0\0\0\0\0\0\0\0", 9)},
        {"negative type", std::string("\xff\0\0\0\0\0\0\0\0", 9)},
        {"too long", std::string("\x04\0\0\0\0\x01\0\x01\0", 9)},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        PipeFrameReader reader;
        reader.add(row.bytes);
        EXPECT_FALSE(reader.next());
        EXPECT_TRUE(reader.broken());
        reader.add(encode_pipe_frame(PipeFrameType::Data, 1, "x"));
        EXPECT_FALSE(reader.next());
    }
}

TEST(PipeFrames, MessagesKeepTheirBorders) {
    PipeMessage message;
    using State = PipeMessage::State;
    EXPECT_EQ(message.add({PipeFrameType::Part, 1, "long "}), State::Incomplete);
    EXPECT_EQ(message.add({PipeFrameType::Data, 1, "one"}), State::Whole);
    EXPECT_EQ(message.bytes(), "long one");
    EXPECT_EQ(message.add({PipeFrameType::Data, 1, ""}), State::Whole);
    EXPECT_EQ(message.bytes(), "") << "an empty message is one, too";
    const PipeFrame piece{PipeFrameType::Part, 1, std::string(LargestPipeFrame, 'x')};
    for (std::size_t size = LargestPipeFrame; size <= LargestPipeMessage; size += LargestPipeFrame)
        ASSERT_EQ(message.add(piece), State::Incomplete) << size;
    EXPECT_EQ(message.add(piece), State::TooLong);
}

TEST(PipeFrames, CreditStopsASenderAndComesBackInLargePieces) {
    PipeCredit sender, receiver;
    sender.spend(PipeWindow);
    EXPECT_EQ(sender.left(), 0u);
    EXPECT_EQ(receiver.taken(1000), 0u);
    const std::uint32_t grant = receiver.taken(PipeWindow / 4);
    EXPECT_EQ(grant, PipeWindow / 4 + 1000);
    sender.gain(grant);
    EXPECT_EQ(sender.left(), grant);
    sender.gain(0xffffffff);
    EXPECT_EQ(sender.left(), PipeWindow) << "no peer makes it larger";
}

}  // namespace
}  // namespace porthole::winhost
