#include "cmd/node/node_program.h"
#include "winservice/service_windows.h"

namespace porthole::cmd {

int NodeProgram::run(const std::string& service) {
    if (service.empty() || ends_after_start()) return run_on_console();
    return winservice::run_as_service(service, [this](winservice::ServiceReport& report) {
        Event stop;
        report.on_stop([&] { world_.loop.post([&] { stop.set(); }); });
        return run_until(stop, [&] { report.started(); });
    });
}

}  // namespace porthole::cmd
