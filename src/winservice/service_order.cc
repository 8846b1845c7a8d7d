#include "winservice/service_order.h"

#include <ranges>

namespace porthole::winservice {
namespace {

constexpr std::chrono::seconds StopLimit{60}, StartLimit{60};

}  // namespace

Result<void> stop_services(ServiceManager& manager, std::span<const std::string> names, const Report& report) {
    for (const std::string& name : names | std::views::reverse) {
        TRY(const auto state, manager.find(name));
        if (!state || *state == ServiceState::Stopped) continue;
        TRY_VOID(manager.stop(name, StopLimit));
        report("service " + name + " stopped");
    }
    return {};
}

Result<void> install_services(ServiceManager& manager, std::span<const ServiceDefinition> services, const Report& report) {
    for (const ServiceDefinition& service : services) TRY_VOID(manager.ensure(service));
    for (const ServiceDefinition& service : services) {
        TRY_VOID(manager.start(service.name, StartLimit));
        report("service " + service.name + " runs");
    }
    return {};
}

Result<void> remove_services(ServiceManager& manager, std::span<const std::string> names, const Report& report) {
    TRY_VOID(stop_services(manager, names, report));
    for (const std::string& name : names | std::views::reverse) {
        TRY(const auto state, manager.find(name));
        if (!state) continue;
        TRY_VOID(manager.remove(name));
        report("service " + name + " deleted");
    }
    return {};
}

}  // namespace porthole::winservice
