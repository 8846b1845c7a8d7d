#include <signal.h>

#include "cmd/program/node_program.h"

namespace porthole::cmd {

int run_node_program(RealWorld& world, NodeProgram& program, const std::string& service) {
    if (!service.empty()) return fail("--windows-service is for Windows; here systemd or a shell runs the program as it is");
    ::signal(SIGPIPE, SIG_IGN);
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    const auto started = world.run(program.start());
    if (started) (void)world.run(stop.wait());
    const auto closed = world.run(program.close());
    const Result<void>& ended = started ? closed : started;
    if (ended) return 0;
    program.failed(ended.error());
    return fail(ended.error().message);
}

}  // namespace porthole::cmd
