#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "windows/rule.h"

namespace porthole::windows {

/// What Windows nodes can do that depends on a version: of Kubernetes, or of Windows.
struct FeatureSupport {
    std::string_view feature;
    Maturity maturity;
    std::string_view since;  ///< the first version of Kubernetes that has it with that maturity
    std::uint32_t build;     ///< the first build of Windows
    std::string_view note;   ///< how it is asked for, or what holds without it
};
std::span<const FeatureSupport> features();

}  // namespace porthole::windows
