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
    std::string rootfs;                  ///< the container's file system, mounted
};

/// Merges the registry hives of the image's layers into the registry files of the container's Wine, which must not run yet. Containers with
/// the same layers share the work by way of `cache`, which may be deleted at any time. Returns what could not be read and was left out, for
/// the log. Blocking, for the worker pool. Error: Io.
Result<std::vector<std::string>> prepare_registry(const RegistryRequest& request);

}  // namespace porthole::winhost
