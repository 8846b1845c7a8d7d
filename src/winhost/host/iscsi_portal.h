#pragma once
#include <cstdint>
#include <string>

#include "csi_proxy/host.h"

namespace porthole::winhost {

/// An address of IPv4 or IPv6 as programs write it, "fd00::9" of "[FD00:0::9]"; "" for anything else.
std::string plain_address(const std::string& text);

/// "10.0.0.9:3260" or "[fd00::9]:3260". The machine that emulates the host connects to it, for a driver: names, which may lead anywhere
/// later, and addresses of the machine itself and of its link (loopback, link-local, multicast) are BadRequest.
Result<std::string> portal_text(const csi_proxy::Iscsi::Portal& portal);
/// Of a text of portal_text().
csi_proxy::Iscsi::Portal parse_portal(const std::string& text);

}  // namespace porthole::winhost
