#include <signal.h>

#include "cmd/node/node_program.h"

namespace porthole::cmd {

int NodeProgram::run(const std::string& service) {
    if (!service.empty()) return fail("--windows-service is for Windows; here systemd or a shell runs the program as it is");
    ::signal(SIGPIPE, SIG_IGN);
    return run_on_console();
}

}  // namespace porthole::cmd
