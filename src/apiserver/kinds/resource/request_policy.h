#pragma once
#include "api/resource_v1.h"
#include "apiserver/kinds/checks.h"

namespace porthole::apiserver {

/// The rules of `capacity.requestPolicy`, if set: which amounts of a capacity may be requested of a device that allows multiple
/// allocations. `path` is that of the capacity. Source: API validation of ResourceSlice in Kubernetes 1.36.
void validate_request_policy(const api::resource::v1::DeviceCapacity& capacity, bool allows_multiple, const FieldPath& path,
                             FieldErrors& errors);

}  // namespace porthole::apiserver
