#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/streams/spdy_headers.h"

/// Blocks behind each other, each behind its length of one byte; and what is written is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::net;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    SpdyHeaderReader reader;
    while (!rest.empty()) {
        const std::size_t length = static_cast<unsigned char>(rest.front());
        const auto headers = reader.read(rest.substr(1, length));
        if (!headers) break;
        SpdyHeaderWriter writer;
        SpdyHeaderReader again;
        if (!again.read(writer.write(*headers))) __builtin_trap();
        rest.remove_prefix(std::min(rest.size(), length + 1));
    }
    return 0;
}
