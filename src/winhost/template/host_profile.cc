#include "winhost/template/host_profile.h"

namespace porthole::winhost {

std::string HostProfile::version() const { return "10.0." + std::to_string(build) + "." + std::to_string(update); }

const std::vector<HostProfile>& host_profiles() {
    static const std::vector<HostProfile> Profiles = {
        {"2019", 17763, 6659, "Windows Server 2019 Datacenter", "1809"},
        {"2022", 20348, 2966, "Windows Server 2022 Datacenter", "21H2"},
        {"2025", 26100, 2605, "Windows Server 2025 Datacenter", "24H2"},
    };
    return Profiles;
}

Result<HostProfile> find_host_profile(std::string_view name) {
    std::string known;
    for (const HostProfile& profile : host_profiles()) {
        if (profile.name == name) return profile;
        known += (known.empty() ? "" : ", ") + profile.name;
    }
    return Error(Reason::BadRequest, "unknown host profile \"" + std::string(name) + "\"; valid are " + known);
}

}  // namespace porthole::winhost
