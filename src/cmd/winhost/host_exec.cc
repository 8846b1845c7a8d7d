#include "cmd/winhost/host_exec.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "winhost/bundle/held_tree.h"
#include "winhost/runtime/init_connection.h"

namespace porthole::cmd {
namespace {

using winhost::FrameType;

/// A conversation with the host's first process (winhost/tools/frames.h), by plain blocking calls: this program does nothing else.
class Conversation {
public:
    ~Conversation() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool open(const std::string& socket) {
        const auto held = winhost::hold_socket(socket);
        if (!held) return false;
        const std::string path = held->path();
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) return false;
        std::memcpy(address.sun_path, path.c_str(), path.size());
        fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    int fd() const { return fd_; }

    bool send(FrameType type, const std::string& payload) {
        const auto size = static_cast<std::uint32_t>(payload.size());
        std::string bytes(1, static_cast<char>(type));
        bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(payload);
        for (std::size_t start = 0; start < bytes.size();) {
            const ssize_t count = ::send(fd_, bytes.data() + start, bytes.size() - start, MSG_NOSIGNAL);
            if (count <= 0) return false;
            start += static_cast<std::size_t>(count);
        }
        return true;
    }
    bool next(winhost::Frame& frame) {
        char head[5];
        std::uint32_t size = 0;
        if (!receive(head, sizeof head)) return false;
        std::memcpy(&size, head + 1, sizeof size);
        if (size > 2 * winhost::LargestFrame) return false;
        frame.type = static_cast<FrameType>(head[0]);
        frame.payload.resize(size);
        return receive(frame.payload.data(), size);
    }

private:
    bool receive(char* data, std::size_t size) {
        for (std::size_t start = 0; start < size;) {
            const ssize_t count = ::recv(fd_, data + start, size - start, 0);
            if (count <= 0) return false;
            start += static_cast<std::size_t>(count);
        }
        return true;
    }
    int fd_ = -1;
};

void write_all(int fd, const std::string& bytes) {
    for (std::size_t start = 0; start < bytes.size();) {
        const ssize_t count = ::write(fd, bytes.data() + start, bytes.size() - start);
        if (count <= 0) return;
        start += static_cast<std::size_t>(count);
    }
}

/// False when standard input has ended.
bool pass_input(Conversation& conversation) {
    char buffer[65536];
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count > 0) return conversation.send(FrameType::Input, std::string(buffer, static_cast<std::size_t>(count)));
    (void)conversation.send(FrameType::EndInput, "");
    return false;
}

}  // namespace

int exec_on_host(const std::string& socket, const std::string& spec) {
    Conversation conversation;
    if (!conversation.open(socket) || !conversation.send(FrameType::Request, winhost::init_request({"exec", "0", "1"}) + spec)) {
        std::fputs("porthole: no emulated host is running there\n", stderr);
        return 125;
    }
    pollfd watched[2] = {{conversation.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    for (;;) {
        if (::poll(watched, 2, -1) < 0) continue;
        if ((watched[1].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) && !pass_input(conversation)) watched[1].fd = -1;
        if (!watched[0].revents) continue;
        winhost::Frame frame;
        if (!conversation.next(frame)) {
            std::fputs("porthole: the emulated host has stopped\n", stderr);
            return 125;
        }
        if (frame.type == FrameType::Output) write_all(STDOUT_FILENO, frame.payload);
        if (frame.type == FrameType::Errors) write_all(STDERR_FILENO, frame.payload);
        if (frame.type == FrameType::Exit) return static_cast<int>(frame.number());
        if (frame.type == FrameType::Failed) {
            std::fprintf(stderr, "porthole: %s\n", winhost::error_of_failure(frame.payload).message.c_str());
            return 126;
        }
    }
}

}  // namespace porthole::cmd
