#pragma once
#include <map>
#include <string>

#include "schema/fields/field_errors.h"

namespace porthole::apiserver {

/// The rules of a FlexVolume source, of a pod's volume or of a PersistentVolume: options that the kubelet sets are refused.
void validate_flex_volume(const std::string& driver, const std::map<std::string, std::string>& options, const schema::FieldPath& path,
                          schema::FieldErrors& errors);

}  // namespace porthole::apiserver
