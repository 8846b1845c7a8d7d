#pragma once
#include "api/core_v1.h"
#include "apiserver/subresources/connector.h"

namespace porthole::apiserver {

/// Where a node's kubelet answers. Error: InternalError for a node without an address.
Result<ConnectTarget> kubelet_of(const api::core::v1::Node& node);

}  // namespace porthole::apiserver
