#include "hns/emulator/model/profile.h"

namespace porthole::hns::emulator {
namespace {

constexpr Profile Profiles[] = {
    {"2016", 14393, {6, 2}, 0, 64, 256, false},     {"1709", 16299, {6, 9}, 0, 64, 256, false},
    {"1803", 17134, {7, 2}, 0, 64, 256, false},     {"2019", 17763, {9, 5}, 0, 64, 256, false},
    {"1809", 17763, {9, 2}, 0, 64, 256, false},     {"1903", 18362, {10, 5}, 2, 64, 256, false},
    {"2004", 19041, {11, 11}, 6, 1024, 256, false}, {"20H2", 19042, {11, 11}, 6, 1024, 256, false},
    {"19551", 19551, {12, 1}, 8, 1024, 256, false}, {"2022", 20348, {13, 3}, 11, 1024, 256, false},
    {"2025", 26100, {15, 4}, 16, 1024, 256, false},
};

}  // namespace

std::span<const Profile> profiles() { return Profiles; }

const Profile* find_profile(std::string_view name_or_build) {
    for (const Profile& profile : Profiles) {
        if (profile.name == name_or_build || std::to_string(profile.build) == name_or_build) return &profile;
    }
    return nullptr;
}

}  // namespace porthole::hns::emulator
