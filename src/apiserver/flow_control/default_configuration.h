#pragma once
#include <string_view>
#include <vector>

#include "api/flowcontrol_v1.h"

/// The objects of API priority and fairness that every cluster starts with, with Kubernetes' names and values.
namespace porthole::apiserver {

/// "true" on an object: the server keeps its spec as it is here; "false": the administrator's spec stays.
inline constexpr const char* AutoUpdateSpecAnnotation = "apf.kubernetes.io/autoupdate-spec";
inline constexpr std::string_view ExemptName = "exempt";
inline constexpr std::string_view CatchAllName = "catch-all";

/// There must be a place for every request: these two, of either kind, are kept whatever their annotation says.
constexpr bool is_mandatory_name(std::string_view name) { return name == ExemptName || name == CatchAllName; }

/// The mandatory ones first.
std::vector<api::flowcontrol::v1::PriorityLevelConfiguration> default_priority_levels();
std::vector<api::flowcontrol::v1::FlowSchema> default_flow_schemas();

}  // namespace porthole::apiserver
