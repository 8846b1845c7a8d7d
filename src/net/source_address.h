#pragma once
#include "base/ip.h"

namespace porthole::net {

/// This machine's own address on the way to `server` ("https://host:port" with an IP address as host); nothing is sent.
/// Error: BadRequest when the host is no address, Io when there is no way.
Result<IpAddress> source_address_towards(const std::string& server);

}  // namespace porthole::net
