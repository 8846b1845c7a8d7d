#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hns/features.h"

namespace porthole::hns::emulator {

/// A release of Windows Server as the emulator plays it.
struct Profile {
    std::string_view name;                ///< "2022"
    std::uint32_t build;                  ///< 20348
    HnsVersion version;                   ///< of the host network service
    std::uint32_t schema_minor;           ///< of the HCN documents
    std::uint32_t backend_limit;          ///< unique destinations of one load balancer
    std::uint32_t snat_blocks;            ///< of 64 ports each, one for every load balancer without DSR
    bool host_reaches_service_addresses;  ///< by the host's own processes

    Features features() const { return features_of(version); }
};

/// All known ones, oldest first; 1809 is 2019 before the updates that brought direct server return. The versions of releases between 2019
/// and 2022 are inferred from when features were added.
std::span<const Profile> profiles();
/// By name ("2022") or build ("20348"), of several with that build the first; nullptr if there is none.
const Profile* find_profile(std::string_view name_or_build);

}  // namespace porthole::hns::emulator
