#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace porthole {

/// How many bytes the control character at `at` has; 0 if there is none. Those of 8 bits count, which are two bytes in UTF-8: one of them
/// begins an escape sequence, as ESC [ does.
inline std::size_t control_size(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    if (byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0) return 2;
    return byte(at) < 0x20 || byte(at) == 0x7f ? 1 : 0;
}

/// Text of others for a terminal: control characters other than line breaks and tabs become "?".
inline std::string for_terminal(std::string_view text) {
    std::string shown;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t control = text[i] == '\n' || text[i] == '\t' ? 0 : control_size(text, i);
        shown += control > 0 ? '?' : text[i];
        i += control > 0 ? control : 1;
    }
    return shown;
}

}  // namespace porthole
