#include "winhost/template/host_profile.h"

#include "base/strings.h"
#include "windows/builds.h"

namespace porthole::winhost {

std::string HostProfile::version() const { return "10.0." + std::to_string(build) + (update == 0 ? "" : "." + std::to_string(update)); }

const std::vector<HostProfile>& host_profiles() {
    // The fourth numbers are those of Microsoft's last container base images of each release, or of recent ones. 19551 was a preview; 1809
    // is 2019 with the update with which it became fit for nodes, KB4482887, and no later one.
    static const std::vector<HostProfile> Profiles = {
        {"2016", 14393, 6796, "Windows Server 2016 Datacenter", "1607"},
        {"1709", 16299, 1087, "Windows Server Datacenter", "1709"},
        {"1803", 17134, 1305, "Windows Server Datacenter", "1803"},
        {"2019", 17763, 6659, "Windows Server 2019 Datacenter", "1809"},
        {"1809", 17763, 348, "Windows Server 2019 Datacenter", "1809"},
        {"1903", 18362, 1256, "Windows Server Datacenter", "1903"},
        {"2004", 19041, 1415, "Windows Server Datacenter", "2004"},
        {"20H2", 19042, 1889, "Windows Server Datacenter", "20H2"},
        {"19551", 19551, 0, "Windows Server Datacenter", ""},
        {"2022", 20348, 2966, "Windows Server 2022 Datacenter", "21H2"},
        {"2025", 26100, 2605, "Windows Server 2025 Datacenter", "24H2"},
    };
    return Profiles;
}

std::vector<std::string> profiles_of_nodes() {
    std::vector<std::string> names;
    for (const HostProfile& profile : host_profiles())
        if (profile.build >= windows::OldestBuild) names.push_back(profile.name);
    return names;
}

Result<HostProfile> find_host_profile(std::string_view name) {
    for (const HostProfile& profile : host_profiles())
        if (profile.name == name) return profile;
    const std::string known = join(host_profiles(), ", ", [](const HostProfile& profile) { return profile.name; });
    return Error(Reason::BadRequest, "unknown host profile \"" + std::string(name) + "\"; valid are " + known);
}

}  // namespace porthole::winhost
