#pragma once
#include <arpa/inet.h>
#include <libmnl/libmnl.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

namespace porthole::net {

// The little that our netlink speakers share; libmnl's own loops are macros for C.

template <class F>
void for_each_attribute(const nlattr* first, const char* end, F visit) {
    for (const nlattr* attribute = first; mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)));
         attribute = mnl_attr_next(attribute))
        visit(attribute);
}
/// The attributes of a message behind its extra header.
template <class Header, class F>
void for_each_attribute(const nlmsghdr* message, F visit) {
    for_each_attribute(static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof(Header))),
                       static_cast<const char*>(mnl_nlmsg_get_payload_tail(message)), visit);
}
template <class F>
void for_each_nested(const nlattr* outer, F visit) {
    const char* payload = static_cast<const char*>(mnl_attr_get_payload(outer));
    for_each_attribute(reinterpret_cast<const nlattr*>(payload), payload + mnl_attr_get_payload_len(outer), visit);
}

/// A netlink socket of the calling thread's network namespace.
class NetlinkSocket {
public:
    explicit NetlinkSocket(int bus) : socket_(mnl_socket_open(bus), mnl_socket_close) {
        if (socket_ && mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0) socket_.reset();
    }

    /// Sends a request that is acknowledged or dumps, and hands every message of the answer to `callback`. False with errno set.
    bool exchange(const nlmsghdr* message, mnl_cb_t callback = nullptr, void* context = nullptr) {
        if (!socket_ || mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0) return false;
        constexpr std::size_t LargestMessage = 32768;
        std::vector<char> buffer(LargestMessage);
        for (;;) {
            const ssize_t count = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
            if (count < 0) return false;
            const int state = mnl_cb_run(buffer.data(), static_cast<std::size_t>(count), message->nlmsg_seq,
                                         mnl_socket_get_portid(socket_.get()), callback, context);
            if (state < 0) return false;
            if (state == MNL_CB_STOP) return true;
        }
    }

private:
    std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> socket_;
};

}  // namespace porthole::net
