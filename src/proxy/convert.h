#pragma once
#include <optional>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "proxy/service_table.h"

namespace porthole::proxy {

enum class Family : std::uint8_t { V4, V6 };

/// The part of a Service that is of one family; nothing for one that is not proxied: headless, ExternalName, or left to
/// another proxy.
std::optional<ServiceInfo> service_info(const api::core::v1::Service& service, Family family = Family::V4);
/// Nothing for a slice that belongs to no service.
std::optional<SliceInfo> slice_info(const api::discovery::v1::EndpointSlice& slice, Family family = Family::V4);
NodeView node_view(const api::core::v1::Node& node, Family family = Family::V4);

}  // namespace porthole::proxy
