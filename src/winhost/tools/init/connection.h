#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "winhost/tools/frames.h"

namespace porthole::winhost {

constexpr std::size_t Backlog = 1 << 20;  ///< bytes that may wait for a slow reader; above this, their source is not read

struct Program;

/// A client of the socket: frames in and out, and the program that they are about.
class Connection {
public:
    explicit Connection(int fd) : fd_(fd) {}
    ~Connection() { ::close(fd_); }
    Connection(const Connection&) = delete;

    void send(FrameType type, std::string_view payload) {
        if (gone) return;
        const auto size = static_cast<std::uint32_t>(payload.size());
        out_.push_back(static_cast<char>(type));
        out_.append(reinterpret_cast<const char*>(&size), sizeof size);
        out_.append(payload);
    }
    void send_number(FrameType type, std::uint32_t number) { send(type, {reinterpret_cast<const char*>(&number), sizeof number}); }
    bool congested() const { return out_.size() > Backlog; }
    bool idle() const { return out_.empty(); }
    int fd() const { return fd_; }

    void flush() {
        while (!out_.empty()) {
            const ssize_t count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0) {
                if (errno != EAGAIN && errno != EINTR) gone = true;
                return;
            }
            out_.erase(0, static_cast<std::size_t>(count));
        }
        if (finished) gone = true;
    }
    /// False when the client has left.
    bool receive() {
        char buffer[65536];
        const ssize_t count = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count > 0) in_.append(buffer, static_cast<std::size_t>(count));
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
    }
    bool next_frame(FrameType& type, std::string& payload) {
        std::uint32_t size = 0;
        if (in_.size() < 5) return false;
        std::memcpy(&size, in_.data() + 1, sizeof size);
        if (size > LargestFrame) {
            gone = true;
            return false;
        }
        if (in_.size() < 5 + size) return false;
        type = static_cast<FrameType>(in_[0]);
        payload = in_.substr(5, size);
        in_.erase(0, 5 + size);
        return true;
    }

    Program* program = nullptr;  ///< the program whose output, input and end it carries
    bool wants_output = false, gives_input = false, owns_program = false, asked = false;
    bool finished = false, gone = false;

private:
    int fd_;
    std::string in_, out_;
};

}  // namespace porthole::winhost
