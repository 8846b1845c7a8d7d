#pragma once
#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace porthole::net {

// The part of the netlink protocol (RFC 3549) for routes, links and connection tracking. Numbers are in the byte order of the attribute's
// definition: the machine's for routes and links, the network's for netfilter.

/// One attribute of a received message. A view: valid as long as the message.
class NetlinkAttribute {
public:
    NetlinkAttribute(std::uint16_t type, std::string_view payload) : type_(type), payload_(payload) {}

    std::uint16_t type() const { return type_; }
    std::string_view payload() const { return payload_; }
    /// 0 if the payload is shorter than a `T`.
    template <class T>
    T number() const {
        T value{};
        if (payload_.size() >= sizeof value) std::memcpy(&value, payload_.data(), sizeof value);
        return value;
    }
    /// The kernel's texts end with a zero byte, which is removed.
    std::string text() const { return std::string(payload_.substr(0, payload_.find('\0'))); }

private:
    std::uint16_t type_;
    std::string_view payload_;
};

/// Calls `visit` with each attribute in `bytes`; stops at the first incomplete one.
template <class F>
void for_each_attribute(std::string_view bytes, F visit) {
    nlattr header;
    while (bytes.size() >= sizeof header) {
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.nla_len < sizeof header || header.nla_len > bytes.size()) return;
        visit(NetlinkAttribute(header.nla_type & NLA_TYPE_MASK, bytes.substr(NLA_HDRLEN, header.nla_len - NLA_HDRLEN)));
        bytes.remove_prefix(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
    }
}

/// A received message: its family's own header, then attributes. A view, as an attribute is.
template <class Header>
class NetlinkMessage {
public:
    explicit NetlinkMessage(std::string_view payload) {
        std::memcpy(&header_, payload.data(), std::min(sizeof header_, payload.size()));
        if (payload.size() > NLMSG_ALIGN(sizeof header_)) attributes_ = payload.substr(NLMSG_ALIGN(sizeof header_));
    }
    const Header& header() const { return header_; }
    std::string_view attributes() const { return attributes_; }

private:
    Header header_{};
    std::string_view attributes_;
};

/// A request: the message header, the family's own header, then the attributes in the order in which they are added.
class NetlinkRequest {
public:
    template <class Header>
    NetlinkRequest(std::uint16_t type, std::uint16_t flags, const Header& header) {
        static_assert(std::is_trivially_copyable_v<Header>);
        const nlmsghdr message{.nlmsg_len = 0,
                               .nlmsg_type = type,
                               .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
                               .nlmsg_seq = 0,
                               .nlmsg_pid = 0};
        append(&message, sizeof message);
        append(&header, sizeof header);
    }

    void put(std::uint16_t type, const void* bytes, std::size_t size);
    template <class T>
        requires std::is_integral_v<T>
    void put(std::uint16_t type, T number) {
        put(type, &number, sizeof number);
    }
    /// Adds the zero byte at the end.
    void put(std::uint16_t type, const std::string& text) { put(type, text.c_str(), text.size() + 1); }
    /// Requests an answer even on success; otherwise only errors are answered.
    void acknowledge();
    /// An attribute that contains those added by `fill`.
    template <class F>
    void put_nested(std::uint16_t type, F fill) {
        const std::size_t start = bytes_.size();
        put(type, nullptr, 0);
        fill();
        set_length(start);
    }

private:
    friend class NetlinkSocket;
    void append(const void* bytes, std::size_t size);
    void set_length(std::size_t attribute);
    const std::string& finish(std::uint32_t sequence);
    std::string bytes_;
};

/// A netlink socket of the network namespace of the thread that creates it. Blocks; one thread at a time.
///
/// Closing a netfilter socket waits until the kernel has destroyed what its last transactions removed, some 15 ms: keep it open for further
/// requests.
class NetlinkSocket {
public:
    using Visit = std::function<void(std::string_view payload)>;

    explicit NetlinkSocket(int bus);
    ~NetlinkSocket();
    NetlinkSocket(const NetlinkSocket&) = delete;

    /// Sends a request with NLM_F_ACK or NLM_F_DUMP, and passes the payload of each answer message to `visit`. False with errno set: the
    /// kernel's answer, or why the request could not be sent.
    bool exchange(NetlinkRequest request, const Visit& visit = {});
    /// Sends requests that the kernel executes as one transaction. One of them must be acknowledged: the last that can fail. False as
    /// above.
    bool exchange_batch(std::vector<NetlinkRequest> requests);

private:
    enum class State { More, Done, Failed };
    bool send(std::string_view bytes) const;
    bool receive(const Visit& visit) const;
    State read(std::string_view datagram, const Visit& visit) const;

    int socket_;
    std::uint32_t port_ = 0;      // the kernel's name for this socket
    std::uint32_t sequence_ = 0;  // of the current request; answers to failed ones may still arrive
};

}  // namespace porthole::net
