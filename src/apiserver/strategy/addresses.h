#pragma once
#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {

/// An address that traffic may be sent to: an IP that is neither unspecified, loopback nor link-local.
void check_endpoint_address(const std::string& ip, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
