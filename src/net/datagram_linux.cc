#include "net/datagram_batch.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace porthole::net {

namespace {

using Headers = std::array<mmsghdr, MostDatagrams>;
using Parts = std::array<iovec, MostDatagrams>;

}  // namespace

void report_unreachable(std::uintptr_t socket, bool ipv4) {
    const int on = 1;
    const int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6, option = ipv4 ? IP_RECVERR : IPV6_RECVERR;
    (void)::setsockopt(static_cast<int>(socket), level, option, &on, sizeof on);  // without it a peer's silence is waited for
}

const bool WaitsForReadiness = true;

std::size_t receive_present(std::uintptr_t socket, DatagramBatch& batch, std::size_t first) {
    Headers headers{};
    Parts parts{};
    const std::size_t room = batch.places.size() - first;
    for (std::size_t at = 0; at < room; ++at) {
        DatagramBatch::Place& place = batch.places[first + at];
        parts[at] = {place.bytes.data(), place.bytes.size()};
        headers[at].msg_hdr = {.msg_name = place.sender.data(),
                               .msg_namelen = static_cast<socklen_t>(place.sender.capacity()),
                               .msg_iov = &parts[at],
                               .msg_iovlen = 1};
    }
    const int count = ::recvmmsg(static_cast<int>(socket), headers.data(), static_cast<unsigned>(room), MSG_DONTWAIT, nullptr);
    for (int at = 0; at < count; ++at) {
        DatagramBatch::Place& place = batch.places[first + static_cast<std::size_t>(at)];
        place.size = headers[static_cast<std::size_t>(at)].msg_len;
        place.sender.resize(headers[static_cast<std::size_t>(at)].msg_hdr.msg_namelen);
    }
    return first + (count > 0 ? static_cast<std::size_t>(count) : 0);
}

void send_batch(std::uintptr_t socket, std::span<const OutgoingDatagram> datagrams) {
    Headers headers{};
    Parts parts{};
    for (std::size_t at = 0; at < datagrams.size(); ++at) {
        const OutgoingDatagram& datagram = datagrams[at];
        // The kernel only reads from either.
        parts[at] = {const_cast<char*>(datagram.bytes.data()), datagram.bytes.size()};
        headers[at].msg_hdr = {.msg_name = const_cast<sockaddr*>(datagram.receiver.data()),
                               .msg_namelen = static_cast<socklen_t>(datagram.receiver.size()),
                               .msg_iov = &parts[at],
                               .msg_iovlen = 1};
    }
    for (std::size_t sent = 0; sent < datagrams.size();) {
        const int count =
            ::sendmmsg(static_cast<int>(socket), &headers[sent], static_cast<unsigned>(datagrams.size() - sent), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;  // no room: the others would find none either
        sent += count > 0 ? static_cast<std::size_t>(count) : 1;             // the call stops at one that cannot be sent
    }
}

}  // namespace porthole::net
