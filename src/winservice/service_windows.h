#pragma once
#include <functional>
#include <string>

namespace porthole::winservice {

/// How a program that runs as a Windows service talks with the service manager.
class ServiceReport {
public:
    virtual ~ServiceReport() = default;
    /// Called once, on a thread of the service manager, when the service has to end.
    virtual void on_stop(std::function<void()> stop) = 0;
    /// Startup is done: services that depend on this one may start.
    virtual void started() = 0;
};

/// Runs `body`, which returns the exit code, as the service `name` on a thread of the service manager: it is started, stopped, shut down
/// and interrogated as any native service. A failure is reported as one, so that recovery actions follow. Outside the service manager
/// `body` runs as on a console, and a line on standard error says so.
int run_as_service(const std::string& name, std::function<int(ServiceReport&)> body);

}  // namespace porthole::winservice
