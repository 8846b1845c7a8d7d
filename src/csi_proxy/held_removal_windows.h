#pragma once
// Private to this folder.
#include "csi_proxy/held_removal.h"

namespace porthole::csi_proxy {

/// remove_held(), under Wine too, where there must be no links.
Result<void> remove_by_handles(const std::string& directory, const std::string& path, Removal what);

}  // namespace porthole::csi_proxy
