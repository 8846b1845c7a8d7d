#pragma once
#include <map>
#include <string>

#include "windows/placement.h"

namespace porthole::windows {

/// The operating system that a pod is for, and the evidence.
struct InferredSystem {
    std::string system;    ///< "linux", "windows"; "" if unknown
    std::string reason;    ///< "spec.os.name is windows"; paths begin where the caller's does
    bool decides = false;  ///< it keeps the pod on nodes of that system; a toleration and an image only show what it was made for
};

/// The node selectors of RuntimeClasses, by name.
using ClassSelectors = std::map<std::string, std::map<std::string, std::string>>;

/// Examines spec.os, the node selector, the required node affinity, the RuntimeClass, tolerations and images, in this order.
InferredSystem infer_system(const core::PodSpec& spec, std::string_view path, const ClassSelectors& classes = {});

}  // namespace porthole::windows
