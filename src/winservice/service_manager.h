#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::winservice {

/// A program that Windows starts at boot and restarts after failures.
struct ServiceDefinition {
    std::string name, display_name, description;
    std::vector<std::string> command;                ///< the program's full path and its arguments, unquoted
    std::vector<std::string> depends_on;             ///< names of services that must run first
    std::map<std::string, std::string> environment;  ///< added to the machine's
    bool at_boot = true;

    bool operator==(const ServiceDefinition&) const = default;
};

enum class ServiceState { Stopped, Starting, Running, Stopping };

/// The seam to the machine's service manager. Calls block until the manager has answered.
class ServiceManager {
public:
    virtual ~ServiceManager() = default;
    /// Creates the service or changes the existing one, with recovery actions: restart after 5, 10 and then every 30 s. Error: Forbidden
    /// without an administrator's rights, Io.
    virtual Result<void> ensure(const ServiceDefinition& service) = 0;
    /// nullopt: there is no such service.
    virtual Result<std::optional<ServiceState>> find(const std::string& name) = 0;
    /// Waits until it runs; success if it does. Errors: NotFound, Timeout, Io (it ended while starting; with its exit code).
    virtual Result<void> start(const std::string& name, std::chrono::seconds limit) = 0;
    /// Waits until it has stopped, after those that depend on it; success if it is stopped or does not exist. Error: Timeout, Io.
    virtual Result<void> stop(const std::string& name, std::chrono::seconds limit) = 0;
    /// Success if it is not there. Requires: stopped.
    virtual Result<void> remove(const std::string& name) = 0;
};

/// The variables that a process of the service gets in addition to the machine's; empty if there is no such service. Windows only.
std::map<std::string, std::string> environment_of_service(const std::string& name);

/// The machine's own; Windows only.
std::unique_ptr<ServiceManager> make_service_manager();

}  // namespace porthole::winservice
