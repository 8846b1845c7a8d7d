#include <cstddef>
#include <cstdint>

#include "hns/wire/protocol.h"

using namespace porthole::hns::wire;

/// Frames come out whole however they are cut, and what is read can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t piece = data[0] + 1u;
    FrameReader whole, cut;
    whole.add(bytes);
    std::string read_whole, read_cut;
    while (true) {
        const auto frame = whole.next();
        if (!frame || !*frame) break;
        read_whole += encode_frame(**frame);
        if (const auto request = parse_request(**frame)) {
            const auto again = parse_request(write_request(*request));
            if (!again || again->call != request->call || again->document != request->document) __builtin_trap();
        }
        static_cast<void>(parse_response(**frame));
        static_cast<void>(parse_notification(**frame));
        static_cast<void>(parse_token(**frame));
    }
    for (std::size_t from = 0; from < bytes.size(); from += piece) {
        cut.add(bytes.substr(from, piece));
        while (true) {
            const auto frame = cut.next();
            if (!frame || !*frame) break;
            read_cut += encode_frame(**frame);
        }
    }
    if (read_whole != read_cut) __builtin_trap();
    return 0;
}
