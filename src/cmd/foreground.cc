#include "cmd/foreground.h"

#include <signal.h>

#include <cstdio>

#include "local_cluster/state/cluster.h"

namespace porthole::cmd {

using namespace local_cluster;

int stay(RealWorld& world, ProcessId supervisor, const DataDir& data, const std::string& what) {
    std::printf("\nPress Ctrl-C to take the %s down (--detach leaves it running).\n", what.c_str());
    world.loop.on_signal([&](int) {
        std::printf("\ntaking the %s down …\n", what.c_str());
        send_signal(supervisor, SIGTERM);
    });
    const auto ended = world.run(wait_for_exit(world.loop, supervisor));
    const auto cluster = Cluster::load(data);
    return ended && cluster && cluster->supervisor.pid == 0 ? 0 : fail("the supervisor ended; see " + data.logs().string());
}

}  // namespace porthole::cmd
