#pragma once
#include <functional>
#include <span>
#include <string>

#include "winservice/service_manager.h"

namespace porthole::winservice {

/// Called for each action: "service kubelet runs".
using Report = std::function<void(const std::string& text)>;

/// Stops running services, last first, so that their programs may be replaced. Success if there are none. All three functions block, and
/// fail as the manager does.
Result<void> stop_services(ServiceManager& manager, std::span<const std::string> names, const Report& report);
/// Creates or corrects the services and starts them in order. The first one that does not start ends it.
Result<void> install_services(ServiceManager& manager, std::span<const ServiceDefinition> services, const Report& report);
/// Stops and deletes the services, last first. Success if there are none.
Result<void> remove_services(ServiceManager& manager, std::span<const std::string> names, const Report& report);

}  // namespace porthole::winservice
