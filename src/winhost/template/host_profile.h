#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// A Windows version that a host reports.
struct HostProfile {
    std::string name;          ///< "2022"
    std::uint32_t build = 0;   ///< 20348
    std::uint32_t update = 0;  ///< the fourth number (UBR); 0 if unknown
    std::string product_name;  ///< "Windows Server 2022 Datacenter"
    std::string release;       ///< "21H2"

    std::string version() const;  ///< "10.0.20348.2966"
};

/// Oldest first.
const std::vector<HostProfile>& host_profiles();
/// The names of those that can be nodes; `join` refuses hosts of older ones.
std::vector<std::string> profiles_of_nodes();
/// Error: BadRequest with the known names.
Result<HostProfile> find_host_profile(std::string_view name);

}  // namespace porthole::winhost
