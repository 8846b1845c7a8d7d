#pragma once
#include "api/resource_v1.h"

/// Taints of devices (DRADeviceTaints).
namespace porthole::objects {

/// An empty key with Exists tolerates every taint, an empty effect all effects.
bool tolerates(const api::resource::v1::DeviceToleration& toleration, const api::resource::v1::DeviceTaint& taint);

}  // namespace porthole::objects
