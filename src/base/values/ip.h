#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// An IPv4 or IPv6 address without zone. Orders IPv4 before IPv6, then by number.
class IpAddress {
public:
    /// 0.0.0.0
    constexpr IpAddress() = default;
    static constexpr IpAddress v4(std::uint32_t number) {
        IpAddress address;
        for (int i = 0; i < 4; ++i) address.bytes_[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
        return address;
    }
    static constexpr IpAddress v6(const std::array<std::uint8_t, 16>& bytes) {
        IpAddress address;
        address.is_v6_ = true;
        address.bytes_ = bytes;
        return address;
    }
    /// Accepts what Go's netip does: no leading zeros in IPv4, no zone. Error: BadRequest.
    static Result<IpAddress> parse(std::string_view text);

    bool is_v4() const { return !is_v6_; }
    bool is_v6() const { return is_v6_; }
    /// Requires: is_v4().
    std::uint32_t v4_number() const;
    /// In network order; the first 4 (IPv4) or all 16.
    const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    int bits() const { return is_v6_ ? 128 : 32; }
    bool is_loopback() const;
    /// Whether other hosts can reach it: not unspecified, loopback, link-local, multicast or broadcast. An IPv4-mapped address
    /// ("::ffff:127.0.0.1") counts as its IPv4 address.
    bool is_global_unicast() const;
    /// Canonical (RFC 5952).
    std::string to_string() const;
    /// The address `distance` further on; wraps around.
    IpAddress plus(std::uint64_t distance) const;

    auto operator<=>(const IpAddress&) const = default;

private:
    bool is_v6_ = false;
    std::array<std::uint8_t, 16> bytes_{};
};

/// A range of addresses: base address and prefix length. The base has no bits beyond the prefix.
class IpPrefix {
public:
    IpPrefix() = default;
    IpPrefix(const IpAddress& address, int length);
    /// "10.96.0.0/12"; bits beyond the prefix are cleared. Error: BadRequest.
    static Result<IpPrefix> parse(std::string_view text);

    const IpAddress& base() const { return base_; }
    int length() const { return length_; }
    bool contains(const IpAddress& address) const;
    bool overlaps(const IpPrefix& other) const;
    std::string to_string() const;

    auto operator<=>(const IpPrefix&) const = default;

private:
    IpAddress base_;
    int length_ = 0;
};

}  // namespace porthole
