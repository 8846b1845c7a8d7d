#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::kubelet {

/// The devices of one resource that a container could have.
struct DeviceChoice {
    std::set<std::string> kept;  ///< of the pod's init containers, which have ended: these come first
    std::set<std::string> free;
    std::size_t wanted = 0;
};

/// Those of `kept` that are used: as many as are wanted.
std::set<std::string> devices_kept(const DeviceChoice& choice);
/// Those that the container gets: the kept ones, then as many of `preferred` as are free, then the others in the order of their ids.
/// `preferred` is what the plugin said; it may hold anything. The caller has checked that there are enough.
std::set<std::string> chosen_devices(const DeviceChoice& choice, const std::vector<std::string>& preferred);

}  // namespace porthole::kubelet
