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

/// Buffers of a burst. Some 130 KiB, of which the system gives only the pages that are written to.
struct DatagramBatch {
    struct Place {
        std::array<char, LargestDatagram> bytes;
        std::size_t size = 0;
        boost::asio::ip::udp::endpoint sender;
    };
    std::array<Place, MostDatagrams> places;
};

/// Where it goes, and its bytes, borrowed.
struct OutgoingDatagram {
    std::string_view bytes;
    boost::asio::ip::udp::endpoint receiver;
};

// The system's part, in datagram_linux.cc and datagram_windows.cc. `socket` is the system's own handle, of a socket that does not block.

/// Makes a connected datagram socket fail at once when its peer cannot be reached (ICMP "unreachable"), where the system
/// does not report that by default.
void report_unreachable(std::uintptr_t socket, bool ipv4);

/// Whether one waits for something to come and then takes all of it; otherwise one waits by receiving the first.
extern const bool WaitsForReadiness;

/// Fills places from `first` on with what has come already; how many are filled then, `first` included.
std::size_t receive_present(std::uintptr_t socket, DatagramBatch& batch, std::size_t first);

/// Those that cannot be sent are lost, as datagrams are. At most MostDatagrams.
void send_batch(std::uintptr_t socket, std::span<const OutgoingDatagram> datagrams);

}  // namespace porthole::net
