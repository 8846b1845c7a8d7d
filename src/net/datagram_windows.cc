#include "net/datagram_batch.h"

namespace porthole::net {

void report_unreachable(std::uintptr_t, bool) {}  // Windows does so unasked

const bool WaitsForReadiness = false;

std::size_t receive_present(std::uintptr_t socket, DatagramBatch& batch, std::size_t first) {
    for (; first < batch.places.size(); ++first) {
        DatagramBatch::Place& place = batch.places[first];
        int length = static_cast<int>(place.sender.capacity());
        int count = ::recvfrom(static_cast<SOCKET>(socket), place.bytes.data(), static_cast<int>(place.bytes.size()), 0,
                               place.sender.data(), &length);
        if (count < 0 && ::WSAGetLastError() == WSAEMSGSIZE) count = static_cast<int>(place.bytes.size());  // it has been cut
        if (count < 0) break;
        place.size = static_cast<std::size_t>(count);
        place.sender.resize(static_cast<std::size_t>(length));
    }
    return first;
}

void send_batch(std::uintptr_t socket, std::span<const OutgoingDatagram> datagrams) {
    for (const OutgoingDatagram& datagram : datagrams) {
        (void)::sendto(static_cast<SOCKET>(socket), datagram.bytes.data(), static_cast<int>(datagram.bytes.size()), 0,
                       datagram.receiver.data(), static_cast<int>(datagram.receiver.size()));
    }
}

}  // namespace porthole::net
