#include "net/endpoint.h"

namespace porthole::net {

std::string host_and_port(const std::string& host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != host.npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace porthole::net
