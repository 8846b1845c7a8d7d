#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace porthole {
namespace {

constexpr std::string_view Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values{};
    for (auto& value : values) value = -1;
    for (std::size_t i = 0; i < Alphabet.size(); ++i) values[static_cast<unsigned char>(Alphabet[i])] = static_cast<std::int8_t>(i);
    return values;
}
constexpr std::array<std::int8_t, 256> Values = make_values();

}  // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : Alphabet[group >> (18 - 6 * k) & 63];
    }
    return text;
}

Result<std::string> decode_base64(std::string_view text) {
    const auto illegal = [](std::size_t at) {
        return Error(Reason::BadRequest, "illegal base64 data at input byte " + std::to_string(at));
    };
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    int digits = 0, padding = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n' || c == '\r') continue;
        if (c == '=') {
            if (digits < 2 || digits + ++padding > 4) return illegal(i);
            continue;
        }
        const int value = Values[static_cast<unsigned char>(c)];
        if (value < 0 || padding > 0) return illegal(i);
        group = group << 6 | static_cast<std::uint32_t>(value);
        if (++digits == 4) {
            for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255);
            group = 0;
            digits = 0;
        }
    }
    if (digits == 0 && padding == 0) return bytes;
    if (digits + padding != 4) return illegal(text.size());
    group <<= 6 * padding;
    for (int shift = 16, left = 3 - padding; left > 0; --left, shift -= 8) bytes += static_cast<char>(group >> shift & 255);
    return bytes;
}

std::string encode_base64url(std::string_view bytes) {
    std::string text = encode_base64(bytes);
    text.resize(text.find_last_not_of('=') + 1);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

Result<std::string> decode_base64url(std::string_view text) {
    if (text.find_first_of("+/=\r\n") != text.npos) return Error(Reason::BadRequest, "not base64url");
    std::string padded(text);
    padded.append((4 - padded.size() % 4) % 4, '=');
    std::ranges::replace(padded, '-', '+');
    std::ranges::replace(padded, '_', '/');
    return decode_base64(padded);
}

}  // namespace porthole
