#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::cmd {

/// Where a cluster publishes the authorities of its API server to pods; every control plane does, within seconds of its start.
inline constexpr std::string_view RootCaKey = "/registry/core/configmaps/kube-system/kube-root-ca.crt";

/// That the cluster whose `root_ca` this is, the stored ConfigMap of RootCaKey, has one of the authorities in `own_pem`. What cannot be
/// read is not an error: it says nothing. Error: Conflict.
Result<void> check_authority(std::string_view root_ca, const std::string& own_pem);

}  // namespace porthole::cmd
