#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "windows/rule.h"

namespace porthole::windows {

/// A feature of Windows nodes that depends on the version of Kubernetes or Windows.
struct FeatureSupport {
    std::string_view feature;
    Maturity maturity;
    std::string_view since;  ///< the first version of Kubernetes that has it with that maturity
    std::uint32_t build;     ///< the first build of Windows
    std::string_view note;   ///< how to request it, or what applies without it
};
std::span<const FeatureSupport> features();

}  // namespace porthole::windows
