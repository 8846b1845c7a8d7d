#include "kubelet/device_plugins/device_choice.h"

namespace porthole::kubelet {

std::set<std::string> devices_kept(const DeviceChoice& choice) {
    std::set<std::string> kept;
    for (const std::string& id : choice.kept)
        if (kept.size() < choice.wanted) kept.insert(id);
    return kept;
}

std::set<std::string> chosen_devices(const DeviceChoice& choice, const std::vector<std::string>& preferred) {
    std::set<std::string> chosen = devices_kept(choice);
    for (const std::string& id : preferred)
        if (chosen.size() < choice.wanted && choice.free.contains(id)) chosen.insert(id);
    for (const std::string& id : choice.free)
        if (chosen.size() < choice.wanted) chosen.insert(id);
    return chosen;
}

}  // namespace porthole::kubelet
