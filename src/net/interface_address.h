#pragma once
#include <string>

#include "base/ip.h"

namespace porthole::net {

/// The MAC, as "00-15-5d-01-02-03", of this machine's interface that has the address; "" where there is none.
std::string mac_of_interface_with(const IpAddress& address);

}  // namespace porthole::net
