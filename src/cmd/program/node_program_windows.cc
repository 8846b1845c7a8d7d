#include "cmd/program/node_program.h"
#include "winservice/service_windows.h"

namespace porthole::cmd {

using namespace winservice;
namespace {

int run_until_stopped(RealWorld& world, NodeProgram& program, ServiceReport* service) {
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    if (service) service->on_stop([&] { world.loop.post([&] { stop.set(); }); });
    const auto started = world.run(program.start());
    if (started) {
        if (service) service->started();
        (void)world.run(stop.wait());
    }
    const auto closed = world.run(program.close());
    const Result<void>& ended = started ? closed : started;
    if (ended) return 0;
    program.failed(ended.error());
    return fail(ended.error().message);
}

}  // namespace

int run_node_program(RealWorld& world, NodeProgram& program, const std::string& service) {
    if (service.empty()) return run_until_stopped(world, program, nullptr);
    return run_as_service(service, [&](ServiceReport& report) { return run_until_stopped(world, program, &report); });
}

}  // namespace porthole::cmd
