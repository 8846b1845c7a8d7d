#pragma once
#include <string>

#include "hns/features.h"

namespace porthole::hns {

/// For the end of an error about an API or network that `version` lacks: "; install update KB..." where an update of Windows adds it, as on
/// Windows Server 2019, and "" on releases that never get it.
std::string missing_update(HnsVersion version);

}  // namespace porthole::hns
