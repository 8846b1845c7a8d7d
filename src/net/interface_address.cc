#include "net/interface_address.h"

#include "base/strings.h"
#include "net/error_text.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace porthole::net {

namespace asio = boost::asio;

std::string mac_of_interface_with(const IpAddress& address) {
    const auto facts = interface_with(address);
    return facts ? facts->mac : "";
}

Result<IpAddress> source_address_towards(const std::string& server) {
    const std::size_t scheme = server.find("://");
    std::string host = scheme == server.npos ? server : server.substr(scheme + 3);
    host = host.starts_with('[') ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find_first_of(":/"));
    boost::system::error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (error) return Error(Reason::BadRequest, "\"" + host + "\" is not a valid IP address");
    asio::io_context context;
    asio::ip::udp::socket socket(context);
    constexpr std::uint16_t AnyPort = 9;
    socket.connect({address, AnyPort}, error);
    const auto own = error ? asio::ip::udp::endpoint() : socket.local_endpoint(error);
    if (error) return Error(Reason::Io, "no route to " + host + ": " + text_of(error));
    return IpAddress::parse(own.address().to_string());
}

std::string list_of_interfaces() {
    const auto text_of = [](const Interface& one) {
        const std::string addresses = join(one.addresses, ", ", [](const IpAddress& address) { return address.to_string(); });
        return one.name + (addresses.empty() ? "" : " (" + addresses + ")");
    };
    const std::string all = join(interfaces(), ", ", text_of);
    return all.empty() ? "none" : all;
}

}  // namespace porthole::net
