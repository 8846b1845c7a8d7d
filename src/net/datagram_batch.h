#pragma once
// Private to this folder.
#include <boost/asio/ip/udp.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace porthole::net {

constexpr std::size_t LargestDatagram = 4096;
constexpr std::size_t MostDatagrams = 32;

/// Buffers of a burst: some 130 KiB, of which the system allocates only the pages that are written.
struct DatagramBatch {
    struct Place {
        std::array<char, LargestDatagram> bytes;
        std::size_t size = 0;
        boost::asio::ip::udp::endpoint sender;
    };
    std::array<Place, MostDatagrams> places;
};

/// Bytes, borrowed, and their destination.
struct OutgoingDatagram {
    std::string_view bytes;
    boost::asio::ip::udp::endpoint receiver;
};

// The operating system's part, in datagram_linux.cc and datagram_windows.cc. `socket` is the native handle of a non-blocking socket.

/// Makes a connected datagram socket fail immediately if its peer cannot be reached (ICMP "unreachable"), on systems that do not report
/// this by default.
void report_unreachable(std::uintptr_t socket, bool ipv4);

/// True: wait until something has arrived, then receive all of it. False: wait by receiving the first datagram.
extern const bool WaitsForReadiness;

/// Receives what has already arrived into places from `first` on. Returns the number of filled places, including those before `first`.
std::size_t receive_present(std::uintptr_t socket, DatagramBatch& batch, std::size_t first);

/// At most MostDatagrams. Those that cannot be sent are dropped.
void send_batch(std::uintptr_t socket, std::span<const OutgoingDatagram> datagrams);

}  // namespace porthole::net
