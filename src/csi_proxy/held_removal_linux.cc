#include "csi_proxy/held_removal.h"

namespace porthole::csi_proxy {

std::optional<Result<void>> remove_held(const std::string&, const std::string&, Removal) { return std::nullopt; }

}  // namespace porthole::csi_proxy
