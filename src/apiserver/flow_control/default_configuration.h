#pragma once
#include <string_view>
#include <vector>

#include "api/flowcontrol_v1.h"

/// The objects of API priority and fairness that every cluster starts with, with Kubernetes' names and values.
namespace porthole::apiserver {

/// Annotation: if "true", the server keeps the object's spec as defined here; if "false", the administrator's spec stays.
inline constexpr const char* AutoUpdateSpecAnnotation = "apf.kubernetes.io/autoupdate-spec";
inline constexpr std::string_view ExemptName = "exempt";
inline constexpr std::string_view CatchAllName = "catch-all";

/// Every request must match something, so objects of these two names, of either kind, are kept whatever their annotation.
constexpr bool is_mandatory_name(std::string_view name) { return name == ExemptName || name == CatchAllName; }

/// The mandatory ones first.
std::vector<api::flowcontrol::v1::PriorityLevelConfiguration> default_priority_levels();
std::vector<api::flowcontrol::v1::FlowSchema> default_flow_schemas();

}  // namespace porthole::apiserver
