#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace porthole::winhost {

/// What the two halves of the pipe relay (pipes.cc) tell each other over their standard streams: frames of a type (1 byte), a channel
/// and a length (4 bytes each, little endian) and as many bytes. A channel is one client in the container and its connection to the
/// host's pipe; the container gives out the numbers.
///
///   Present, Absent  host → container   channel = which pipe (its place in the command lines): it exists, or no longer does
///   Open             container → host   a client has come for the pipe whose number is the payload
///   Part, Data       both ways          bytes that were written; Data ends a message, Part does not
///   Credit           both ways          so much more may be sent (pipe_frame_cost)
///   Close            both ways          nothing more will come; the payload is the Windows error that ended it. Each half sends one
enum class PipeFrameType : std::uint8_t { Present, Absent, Open, Part, Data, Credit, Close };

/// One frame.
struct PipeFrame {
    PipeFrameType type{};
    std::uint32_t channel = 0;
    std::string payload;

    std::uint32_t number() const {
        std::uint32_t value = 0;
        if (payload.size() == sizeof value) std::memcpy(&value, payload.data(), sizeof value);
        return value;
    }
};

constexpr std::uint32_t LargestPipeFrame = 64 << 10;
/// Bytes of one channel that may be in transit in one direction: a client that does not read must not block the others.
constexpr std::uint32_t PipeWindow = 256 << 10;
/// How much of the window a frame of `bytes` uses: empty messages take memory, too.
constexpr std::uint32_t pipe_frame_cost(std::size_t bytes) { return static_cast<std::uint32_t>(bytes) + 64; }
/// A message is written in one piece, so its parts are kept until it is complete. A longer message ends its connection.
constexpr std::size_t LargestPipeMessage = 16 << 20;

inline std::string encode_pipe_frame(PipeFrameType type, std::uint32_t channel, std::string_view payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    std::string bytes(1, static_cast<char>(type));
    bytes.append(reinterpret_cast<const char*>(&channel), sizeof channel);
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    return bytes.append(payload);
}

inline std::string encode_pipe_frame(PipeFrameType type, std::uint32_t channel, std::uint32_t number) {
    return encode_pipe_frame(type, channel, {reinterpret_cast<const char*>(&number), sizeof number});
}

/// Assembles frames from a stream of arbitrary pieces.
class PipeFrameReader {
public:
    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// Nullopt while the next frame is incomplete, and permanently after an invalid one.
    std::optional<PipeFrame> next() {
        constexpr std::size_t HeadSize = 9;
        if (broken_ || buffer_.size() < HeadSize) return std::nullopt;
        PipeFrame frame;
        std::uint32_t size = 0;
        frame.type = static_cast<PipeFrameType>(buffer_[0]);
        std::memcpy(&frame.channel, buffer_.data() + 1, sizeof frame.channel);
        std::memcpy(&size, buffer_.data() + 5, sizeof size);
        broken_ = frame.type > PipeFrameType::Close || size > LargestPipeFrame;
        if (broken_ || buffer_.size() < HeadSize + size) return std::nullopt;
        frame.payload = buffer_.substr(HeadSize, size);
        buffer_.erase(0, HeadSize + size);
        return frame;
    }
    bool broken() const { return broken_; }

private:
    std::string buffer_;
    bool broken_ = false;
};

/// Reassembles messages.
class PipeMessage {
public:
    enum class State { Incomplete, Whole, TooLong };
    State add(const PipeFrame& frame) {
        if (whole_) bytes_.clear();
        whole_ = frame.type == PipeFrameType::Data;
        if (bytes_.size() + frame.payload.size() > LargestPipeMessage) return State::TooLong;
        bytes_ += frame.payload;
        return whole_ ? State::Whole : State::Incomplete;
    }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
    bool whole_ = false;
};

/// How much may still be sent, and the credit to grant for received data, which is collected to avoid many small grants.
class PipeCredit {
public:
    std::uint32_t left() const { return left_; }
    void spend(std::uint32_t cost) { left_ -= cost < left_ ? cost : left_; }
    void gain(std::uint32_t grant) { left_ = grant < PipeWindow - left_ ? left_ + grant : PipeWindow; }
    /// Records received data. Returns the credit to grant now; 0 for none yet.
    std::uint32_t taken(std::uint32_t cost) {
        owed_ += cost;
        if (owed_ < PipeWindow / 4) return 0;
        const std::uint32_t grant = owed_;
        owed_ = 0;
        return grant;
    }

private:
    std::uint32_t left_ = PipeWindow, owed_ = 0;
};

}  // namespace porthole::winhost
