#include "base/values/ip.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace porthole {

namespace {

bool parse_v4(std::string_view text, std::uint8_t* out) {
    for (int i = 0; i < 4; ++i) {
        const std::size_t end = i < 3 ? text.find('.') : text.size();
        if (end == std::string_view::npos || end == 0 || end > 3 || (end > 1 && text[0] == '0')) return false;
        unsigned part = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + end, part);
        if (error != std::errc() || stop != text.data() + end || part > 255) return false;
        out[i] = static_cast<std::uint8_t>(part);
        text.remove_prefix(i < 3 ? end + 1 : end);
    }
    return text.empty();
}

/// One side of "::": groups of hexadecimal digits, the last of which may be an IPv4 address. Yields the number of bytes.
std::optional<std::size_t> parse_groups(std::string_view text, std::array<std::uint8_t, 16>& out) {
    std::size_t count = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view group = text.substr(0, end);
        if (group.find('.') != std::string_view::npos) {
            if (end != text.size() || count > 12 || !parse_v4(group, out.data() + count)) return std::nullopt;
            return count + 4;
        }
        unsigned value = 0;
        const auto [stop, error] = std::from_chars(group.data(), group.data() + group.size(), value, 16);
        if (group.empty() || group.size() > 4 || error != std::errc() || stop != group.data() + group.size() || count > 14)
            return std::nullopt;
        out[count++] = static_cast<std::uint8_t>(value >> 8);
        out[count++] = static_cast<std::uint8_t>(value);
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
        if (text.empty()) return std::nullopt;  // ends with a single colon
    }
    return count;
}

std::optional<std::array<std::uint8_t, 16>> parse_v6(std::string_view text) {
    std::array<std::uint8_t, 16> head{}, tail{};
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) {
        const auto count = parse_groups(text, head);
        return count == 16 ? std::optional(head) : std::nullopt;
    }
    const auto before = parse_groups(text.substr(0, gap), head);
    const auto after = parse_groups(text.substr(gap + 2), tail);
    if (!before || !after || *before + *after > 14) return std::nullopt;
    std::copy_n(tail.begin(), *after, head.end() - static_cast<std::ptrdiff_t>(*after));
    return head;
}

std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
    const auto group = [&](int i) { return static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]); };
    int gap = -1, gap_length = 1;  // the longest run of at least two zero groups, the first of equals
    for (int i = 0; i < 8; ++i) {
        int length = 0;
        while (i + length < 8 && group(i + length) == 0) ++length;
        if (length > gap_length) gap = i, gap_length = length;
    }
    std::string text;
    for (int i = 0; i < 8; ++i) {
        if (i == gap) {
            text += "::";
            i += gap_length - 1;
            continue;
        }
        if (!text.empty() && text.back() != ':') text += ':';
        char digits[4];
        text.append(digits, std::to_chars(digits, digits + 4, group(i), 16).ptr);
    }
    return text;
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text) {
    IpAddress address;
    if (text.find(':') == std::string_view::npos) {
        if (parse_v4(text, address.bytes_.data())) return address;
    } else if (const auto bytes = parse_v6(text)) {
        return v6(*bytes);
    }
    return Error(Reason::BadRequest, "not an IP address: \"" + std::string(text) + "\"");
}

std::uint32_t IpAddress::v4_number() const {
    return std::uint32_t{bytes_[0]} << 24 | std::uint32_t{bytes_[1]} << 16 | std::uint32_t{bytes_[2]} << 8 | bytes_[3];
}

bool IpAddress::is_loopback() const {
    if (is_v4()) return bytes_[0] == 127;
    return std::all_of(bytes_.begin(), bytes_.end() - 1, [](std::uint8_t byte) { return byte == 0; }) && bytes_[15] == 1;
}

bool IpAddress::is_global_unicast() const {
    if (is_v6()) {
        const bool mapped =
            bytes_[10] == 0xff && bytes_[11] == 0xff && std::all_of(bytes_.begin(), bytes_.begin() + 10, [](auto b) { return b == 0; });
        if (mapped)
            return v4(std::uint32_t{bytes_[12]} << 24 | std::uint32_t{bytes_[13]} << 16 | std::uint32_t{bytes_[14]} << 8 | bytes_[15])
                .is_global_unicast();
        const bool unspecified = std::all_of(bytes_.begin(), bytes_.end(), [](auto b) { return b == 0; });
        const bool link_local = bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
        return !unspecified && !is_loopback() && !link_local && bytes_[0] != 0xff;
    }
    const std::uint32_t number = v4_number();
    const bool link_local = number >> 16 == 0xa9fe, multicast = number >> 28 == 0xe;
    return number != 0 && number != 0xffffffff && !is_loopback() && !link_local && !multicast;
}

std::string IpAddress::to_string() const {
    if (is_v6_) return v6_text(bytes_);
    std::string text;
    for (int i = 0; i < 4; ++i) text.append(i ? "." : "").append(std::to_string(bytes_[i]));
    return text;
}

IpAddress IpAddress::plus(std::uint64_t distance) const {
    IpAddress sum = *this;
    for (int i = bits() / 8 - 1; i >= 0 && distance > 0; --i) {
        distance += sum.bytes_[i];
        sum.bytes_[i] = static_cast<std::uint8_t>(distance);
        distance >>= 8;
    }
    return sum;
}

IpPrefix::IpPrefix(const IpAddress& address, int length) : length_(std::clamp(length, 0, address.bits())) {
    auto bytes = address.bytes();
    for (int i = 0; i < 16; ++i) {
        const int keep = std::clamp(length_ - 8 * i, 0, 8);
        bytes[i] &= static_cast<std::uint8_t>(0xff << (8 - keep));
    }
    if (address.is_v6()) {
        base_ = IpAddress::v6(bytes);
    } else {
        base_ = IpAddress::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3]);
    }
}

Result<IpPrefix> IpPrefix::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const Error error(Reason::BadRequest, "not an IP prefix: \"" + std::string(text) + "\"");
    if (slash == std::string_view::npos) return error;
    const auto address = IpAddress::parse(text.substr(0, slash));
    const std::string_view digits = text.substr(slash + 1);
    int length = 0;
    const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (!address || digits.empty() || digits[0] == '+' || digits[0] == '-' || failed != std::errc() ||
        stop != digits.data() + digits.size() || length > address->bits())
        return error;
    return IpPrefix(*address, length);
}

bool IpPrefix::contains(const IpAddress& address) const {
    return address.is_v4() == base_.is_v4() && IpPrefix(address, length_).base_ == base_;
}

bool IpPrefix::overlaps(const IpPrefix& other) const { return contains(other.base_) || other.contains(base_); }

std::string IpPrefix::to_string() const { return base_.to_string() + "/" + std::to_string(length_); }

}  // namespace porthole
