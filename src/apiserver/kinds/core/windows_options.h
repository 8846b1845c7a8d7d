#pragma once
#include "api/core_v1.h"
#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {

/// The account and the credential specification of a pod or a container for Windows.
void validate_windows_options(const api::core::v1::WindowsSecurityContextOptions& options, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
