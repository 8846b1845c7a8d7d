#include "netlink/netlink.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace porthole::net {

void NetlinkRequest::append(const void* bytes, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(bytes), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()), '\0');
}

void NetlinkRequest::put(std::uint16_t type, const void* bytes, std::size_t size) {
    const nlattr header{.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + size), .nla_type = type};
    append(&header, sizeof header);
    append(bytes, size);
}

void NetlinkRequest::set_length(std::size_t attribute) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - attribute);
    std::memcpy(bytes_.data() + attribute + offsetof(nlattr, nla_len), &length, sizeof length);
}

NetlinkSocket::NetlinkSocket(int bus) : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, bus)) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    socklen_t size = sizeof address;
    if (socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
        port_ = address.nl_pid;
}

NetlinkSocket::~NetlinkSocket() {
    const int error = errno;  // of the exchange before
    if (socket_ >= 0) ::close(socket_);
    errno = error;
}

void NetlinkRequest::acknowledge() {
    std::uint16_t flags = 0;
    std::memcpy(&flags, bytes_.data() + offsetof(nlmsghdr, nlmsg_flags), sizeof flags);
    flags |= NLM_F_ACK;
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_flags), &flags, sizeof flags);
}

const std::string& NetlinkRequest::finish(std::uint32_t sequence) {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_seq), &sequence, sizeof sequence);
    return bytes_;
}

bool NetlinkSocket::exchange(NetlinkRequest request, const Visit& visit) { return send(request.finish(++sequence_)) && receive(visit); }

bool NetlinkSocket::exchange_batch(std::vector<NetlinkRequest> requests) {
    std::string bytes;
    ++sequence_;
    for (NetlinkRequest& request : requests) bytes += request.finish(sequence_);
    return send(bytes) && receive({});
}

bool NetlinkSocket::send(std::string_view bytes) const {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    return ::sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) >= 0;
}

bool NetlinkSocket::receive(const Visit& visit) const {
    constexpr std::size_t LargestDatagram = 32768;  // what the kernel fills at most when it dumps
    std::vector<char> buffer(LargestDatagram);
    for (;;) {
        // With MSG_TRUNC the whole length is told even where the buffer is shorter.
        const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_TRUNC);
        if (count < 0) return false;
        if (static_cast<std::size_t>(count) > buffer.size()) {
            errno = ENOSPC;
            return false;
        }
        const State state = read({buffer.data(), static_cast<std::size_t>(count)}, visit);
        if (state != State::More) return state == State::Done;
    }
}

NetlinkSocket::State NetlinkSocket::read(std::string_view datagram, const Visit& visit) const {
    nlmsghdr header;
    while (datagram.size() >= sizeof header) {
        std::memcpy(&header, datagram.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) break;
        const std::string_view payload = datagram.substr(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
        datagram.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
        if (header.nlmsg_seq != sequence_ || header.nlmsg_pid != port_) continue;  // not an answer to this request
        if (header.nlmsg_flags & NLM_F_DUMP_INTR) {
            errno = EINTR;  // what was dumped changed meanwhile
            return State::Failed;
        }
        if (header.nlmsg_type == NLMSG_DONE) return State::Done;
        if (header.nlmsg_type == NLMSG_ERROR) {
            nlmsgerr error{};
            std::memcpy(&error, payload.data(), std::min(sizeof error, payload.size()));
            errno = -error.error;
            return error.error == 0 ? State::Done : State::Failed;
        }
        if (header.nlmsg_type >= NLMSG_MIN_TYPE && visit) visit(payload);
    }
    return State::More;
}

}  // namespace porthole::net
