#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kubelet/server/log_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    if (const auto record = porthole::kubelet::parse_log_line(line)) {
        (void)porthole::kubelet::parse_log_time(record->time);
        if (record->text.size() > line.size()) __builtin_trap();
    }
    return 0;
}
