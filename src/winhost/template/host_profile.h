#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// A Windows version that a host pretends to be.
struct HostProfile {
    std::string name;          ///< "2022"
    std::uint32_t build = 0;   ///< 20348
    std::uint32_t update = 0;  ///< the fourth number (UBR); 0 where it is not known
    std::string product_name;  ///< "Windows Server 2022 Datacenter"
    std::string release;       ///< "21H2"

    std::string version() const;  ///< "10.0.20348.2966"
};

/// Oldest first.
const std::vector<HostProfile>& host_profiles();
/// The names of those that can be nodes; the older ones are hosts that `join` refuses.
std::vector<std::string> profiles_of_nodes();
/// Error: BadRequest, naming those that there are.
Result<HostProfile> find_host_profile(std::string_view name);

}  // namespace porthole::winhost
