#pragma once
#include <string_view>

#include "api/core_v1.h"
#include "apiserver/validation/api_object.h"

namespace porthole::apiserver {

/// The pod template of a workload.
struct TemplateInside {
    const api::core::v1::PodTemplateSpec* pods = nullptr;  ///< null for objects without one
    std::string_view path;                                 ///< "spec.template", "template" in a PodTemplate
};
TemplateInside template_in(const ApiObject& object);

}  // namespace porthole::apiserver
