#pragma once
#include <optional>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "proxy/service_table.h"

namespace porthole::proxy {

/// The IPv4 part of a Service; nothing for one that is not proxied: headless, ExternalName, or left to another proxy.
std::optional<ServiceInfo> service_info(const api::core::v1::Service& service);
/// Nothing for a slice that belongs to no service.
std::optional<SliceInfo> slice_info(const api::discovery::v1::EndpointSlice& slice);
NodeView node_view(const api::core::v1::Node& node);

}  // namespace porthole::proxy
