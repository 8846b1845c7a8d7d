// IP addresses and ranges of them.
#include "base/strings.h"
#include "base/values/ip.h"
#include "cel/library/libraries.h"

namespace porthole::cel::network_library {
namespace {

using Arguments = std::span<const Value>;

class Ip : public Opaque {
public:
    explicit Ip(const IpAddress& address) : address(address) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("net.IP");
        return type;
    }
    bool equals(const Opaque& other) const override { return address == static_cast<const Ip&>(other).address; }
    std::optional<std::uint64_t> size() const override { return address.bits() / 8; }
    std::string text() const override { return address.to_string(); }

    IpAddress address;
};

/// A range as it was written: bits beyond the prefix stay.
class Cidr : public Opaque {
public:
    Cidr(const IpAddress& address, int length) : address(address), length(length) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("net.CIDR");
        return type;
    }
    bool equals(const Opaque& other) const override {
        const Cidr& cidr = static_cast<const Cidr&>(other);
        return address == cidr.address && length == cidr.length;
    }
    std::optional<std::uint64_t> size() const override { return (length + 7) / 8; }
    std::string text() const override { return address.to_string() + "/" + std::to_string(length); }
    IpPrefix prefix() const { return IpPrefix(address, length); }

    IpAddress address;
    int length;
};

bool is_mapped(const IpAddress& address) {
    if (address.is_v4()) return false;
    const auto& bytes = address.bytes();
    for (int i = 0; i < 10; ++i) {
        if (bytes[i] != 0) return false;
    }
    return bytes[10] == 0xFF && bytes[11] == 0xFF;
}

/// Why Go's netip does not read the text as an address.
std::string address_mistake(std::string_view text) {
    const std::string prefix = "ParseAddr(" + quote(text) + "): ";
    const std::size_t sign = text.find_first_of(".:%");
    if (sign == std::string_view::npos) return prefix + "unable to parse IP";
    if (text[sign] == '%') return prefix + "missing IPv6 address";
    if (text[sign] == ':') return prefix + "unexpected character";
    const std::vector<std::string_view> fields = split_views(text, '.');
    for (const std::string_view field : fields) {
        if (field.find_first_not_of("0123456789") != std::string_view::npos) {
            const std::size_t at = static_cast<std::size_t>(field.data() - text.data()) + field.find_first_not_of("0123456789");
            return prefix + "unexpected character (at " + quote(text.substr(at)) + ")";
        }
        if (field.empty())
            return prefix + "IPv4 field must have at least one digit (at " +
                   quote(text.substr(static_cast<std::size_t>(field.data() - text.data()))) + ")";
        if (field.size() > 1 && field[0] == '0') return prefix + "IPv4 field has octet with leading zero";
        if (field.size() > 3 || std::stoi(std::string(field)) > 255) return prefix + "IPv4 field has value >255";
    }
    return prefix + (fields.size() < 4 ? "IPv4 address too short" : "IPv4 address too long");
}

/// Why Go's netip does not read the text as a range.
std::string prefix_mistake(std::string_view text) {
    const std::string prefix = "netip.ParsePrefix(" + quote(text) + "): ";
    const std::size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) return prefix + "no '/'";
    if (!IpAddress::parse(text.substr(0, slash))) return prefix + address_mistake(text.substr(0, slash));
    const std::string_view bits = text.substr(slash + 1);
    const bool is_number =
        !bits.empty() && bits.find_first_not_of("0123456789") == std::string_view::npos && (bits.size() == 1 || bits[0] != '0');
    return prefix + (is_number ? "prefix length out of range" : "bad bits after slash: " + quote(bits));
}

Result<IpAddress> parse_ip(std::string_view text) {
    const std::size_t zone = text.find('%');
    if (zone != std::string_view::npos && zone + 1 < text.size()) {
        const auto address = IpAddress::parse(text.substr(0, zone));
        if (address && address->is_v6()) return Error(Reason::BadRequest, "IP address " + quote(text) + " with zone value is not allowed");
    }
    auto address = IpAddress::parse(text);
    if (!address)
        return Error(Reason::BadRequest,
                     "IP Address " + quote(text) + " parse error during conversion from string: " + address_mistake(text));
    if (is_mapped(*address)) return Error(Reason::BadRequest, "IPv4-mapped IPv6 address " + quote(text) + " is not allowed");
    return address;
}

Result<Value> parse_cidr(std::string_view text) {
    const std::size_t slash = text.rfind('/');
    constexpr const char* Prefix = "network address parse error during conversion from string: ";
    const auto prefix = IpPrefix::parse(text);
    if (!prefix) return Error(Reason::BadRequest, Prefix + prefix_mistake(text));
    const auto address = IpAddress::parse(text.substr(0, slash));
    if (!address) return Error(Reason::BadRequest, Prefix + prefix_mistake(text));
    if (is_mapped(*address)) return Error(Reason::BadRequest, "IPv4-mapped IPv6 address " + quote(text) + " is not allowed");
    return Value::opaque(new Cidr(*address, prefix->length()));
}

Value made_ip(const IpAddress& address) { return Value::opaque(new Ip(address)); }
const IpAddress& address_of(const Value& value) { return static_cast<const Ip&>(value.as_opaque()).address; }
const Cidr& cidr_of(const Value& value) { return static_cast<const Cidr&>(value.as_opaque()); }

Value ip(Arguments a) {
    const auto address = parse_ip(a[0].as_text());
    return address ? made_ip(*address) : Value::error(address.error().message);
}
Value is_ip(Arguments a) { return Value::boolean(parse_ip(a[0].as_text()).has_value()); }
Value is_canonical(Arguments a) {
    const auto address = parse_ip(a[0].as_text());
    return address ? Value::boolean(address->to_string() == a[0].as_text()) : Value::error(address.error().message);
}
Value family(Arguments a) { return Value::integer(address_of(a[0]).is_v4() ? 4 : 6); }
Value text(Arguments a) { return Value::string(a[0].as_opaque().text()); }

bool is_unspecified(const IpAddress& address) { return address == (address.is_v4() ? IpAddress() : IpAddress::v6({})); }
bool is_multicast(const IpAddress& address) { return address.is_v4() ? (address.bytes()[0] & 0xF0) == 0xE0 : address.bytes()[0] == 0xFF; }
bool is_link_local(const IpAddress& address) {
    const auto& bytes = address.bytes();
    return address.is_v4() ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
}
bool is_link_local_multicast(const IpAddress& address) {
    const auto& bytes = address.bytes();
    return address.is_v4() ? bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0 : bytes[0] == 0xFF && (bytes[1] & 0x0F) == 2;
}
/// As Go's netip has it: private addresses too.
bool is_global_unicast(const IpAddress& address) {
    if (address.is_v4() && (is_unspecified(address) || address.v4_number() == UINT32_MAX)) return false;
    return !is_unspecified(address) && !address.is_loopback() && !is_multicast(address) && !is_link_local(address);
}
template <bool (*Holds)(const IpAddress&)>
Value ask(Arguments a) {
    return Value::boolean(Holds(address_of(a[0])));
}
bool is_loopback(const IpAddress& address) { return address.is_loopback(); }

Value cidr(Arguments a) {
    auto parsed = parse_cidr(a[0].as_text());
    return parsed ? *std::move(parsed)
                  : Value::error("network address parse error during conversion from string: " + parsed.error().message);
}
Value is_cidr(Arguments a) { return Value::boolean(parse_cidr(a[0].as_text()).has_value()); }
Value cidr_ip(Arguments a) { return made_ip(cidr_of(a[0]).address); }
Value prefix_length(Arguments a) { return Value::integer(cidr_of(a[0]).length); }
Value masked(Arguments a) { return Value::opaque(new Cidr(cidr_of(a[0]).prefix().base(), cidr_of(a[0]).length)); }
Value contains_ip(Arguments a) {
    const Value other = a[1].is(Kind::String) ? ip(a.subspan(1)) : a[1];
    return other.is_error() ? Value::no_such_overload() : Value::boolean(cidr_of(a[0]).prefix().contains(address_of(other)));
}
Value contains_cidr(Arguments a) {
    const Value other = a[1].is(Kind::String) ? cidr(a.subspan(1)) : a[1];
    if (other.is_error()) return other;
    return Value::boolean(cidr_of(a[0]).prefix().overlaps(cidr_of(other).prefix()) && cidr_of(a[0]).length <= cidr_of(other).length);
}

constexpr LibraryFunction Table[] = {
    {"string_to_ip = ip(string) -> net.IP", ip},
    {"is_ip = isIP(string) -> bool", is_ip},
    {"ip_is_canonical = ip.isCanonical(string) -> bool", is_canonical},
    {"ip_family = net.IP.family() -> int", family},
    {"ip_to_string = string(net.IP) -> string", text},
    {"ip_is_unspecified = net.IP.isUnspecified() -> bool", ask<is_unspecified>},
    {"ip_is_loopback = net.IP.isLoopback() -> bool", ask<is_loopback>},
    {"ip_is_link_local_multicast = net.IP.isLinkLocalMulticast() -> bool", ask<is_link_local_multicast>},
    {"ip_is_link_local_unicast = net.IP.isLinkLocalUnicast() -> bool", ask<is_link_local>},
    {"ip_is_global_unicast = net.IP.isGlobalUnicast() -> bool", ask<is_global_unicast>},
    {"string_to_cidr = cidr(string) -> net.CIDR", cidr},
    {"is_cidr = isCIDR(string) -> bool", is_cidr},
    {"cidr_to_string = string(net.CIDR) -> string", text},
    {"cidr_ip = net.CIDR.ip() -> net.IP", cidr_ip},
    {"cidr_prefix_length = net.CIDR.prefixLength() -> int", prefix_length},
    {"cidr_masked = net.CIDR.masked() -> net.CIDR", masked},
    {"cidr_contains_ip_string = net.CIDR.containsIP(string) -> bool", contains_ip},
    {"cidr_contains_ip_ip = net.CIDR.containsIP(net.IP) -> bool", contains_ip},
    {"cidr_contains_cidr_string = net.CIDR.containsCIDR(string) -> bool", contains_cidr},
    {"cidr_contains_cidr = net.CIDR.containsCIDR(net.CIDR) -> bool", contains_cidr},
};

}  // namespace
}  // namespace porthole::cel::network_library

namespace porthole::cel {

std::span<const LibraryFunction> network_functions() { return network_library::Table; }

}  // namespace porthole::cel
