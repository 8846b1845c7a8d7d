#pragma once  // private to this folder
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// The input for a container's registry.
struct RegistryRequest {
    std::vector<std::string> layers;     ///< of the image, topmost first
    std::vector<std::string> templates;  ///< topmost first; their system.reg, userdef.reg and user.reg are Wine's own
    std::string user;                    ///< "ContainerUser": whose profile's hive is the user's
    std::string cache;                   ///< a directory for results, which only this host has
};

/// The result, in `cache`.
struct MergedRegistry {
    /// A directory in `cache`, to be stacked above the image's layers; "" if they have no hives.
    std::string folder;
    /// What could not be read, for the log. Only for the first container of those that share the directory.
    std::vector<std::string> left_out;
};

/// Merges the registry hives of the image's layers into Wine's registry files. Containers with the same layers share the result. Blocking,
/// for the worker pool. Error: Io.
Result<MergedRegistry> merge_registry(const RegistryRequest& request);

}  // namespace porthole::winhost
