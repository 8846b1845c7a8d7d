#include "net/interface_address.h"

namespace porthole::net {

std::string mac_of_interface_with(const IpAddress& address) {
    const auto facts = interface_with(address);
    return facts ? facts->mac : "";
}

}  // namespace porthole::net
