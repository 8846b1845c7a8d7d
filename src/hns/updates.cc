#include "hns/updates.h"

namespace porthole::hns {

std::string missing_update(HnsVersion version) {
    const bool is_of_2019 = version.major == 9;
    return is_of_2019 && version.minor < 2 ? "; install update KB4482887" : "";
}

}  // namespace porthole::hns
