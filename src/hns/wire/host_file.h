#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace porthole::hns::wire {

/// The file from which programs on an emulated host learn its services: C:\ProgramData\Porthole\emulator.json, mode 0600.
struct HostFile {
    std::string hns;    ///< "127.0.0.1:7001", in the host's network namespace
    std::string cri;    ///< the same for the container runtime
    std::string token;  ///< the secret that opens them
    std::string csi;    ///< for the CSI proxy; "" for none
};
/// Error: BadRequest.
Result<HostFile> parse_host_file(const std::string& json);
std::string write_host_file(const HostFile& file);

/// "127.0.0.1:7001". Error: BadRequest.
struct HostAndPort {
    std::string host;
    std::uint16_t port = 0;
};
Result<HostAndPort> parse_host_and_port(const std::string& text);

}  // namespace porthole::hns::wire
