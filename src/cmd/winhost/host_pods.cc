#include "cmd/winhost/host_pods.h"

#include <cstdio>

#include "cmd/command.h"
#include "cmd/runtime_setup.h"
#include "kubelet/cri/cri_grpc.h"

namespace porthole::cmd {
namespace {

namespace cri = api::cri::v1;

struct Running {
    cri::ListPodSandboxResponse sandboxes;
    cri::ListContainersResponse containers;
};

Task<Running> look(kubelet::RuntimeService& runtime) {
    Running running;
    CO_TRY(running.sandboxes, co_await runtime.list_pod_sandbox({}));
    CO_TRY(running.containers, co_await runtime.list_containers({}));
    co_return running;
}

void print(const std::string& id, const char* kind, const std::string& pod, const std::string& name, const char* state) {
    std::printf("%-13.12s %-7s %-9s %-40s %s\n", id.c_str(), kind, state, pod.c_str(), name.c_str());
}

const char* state_of(cri::ContainerState state) {
    switch (state) {
        case cri::ContainerState::ContainerCreated:
            return "created";
        case cri::ContainerState::ContainerRunning:
            return "running";
        case cri::ContainerState::ContainerExited:
            return "exited";
        default:
            return "unknown";
    }
}

std::string pod_of(const cri::PodSandbox& sandbox) {
    return sandbox.metadata ? sandbox.metadata->namespace_ + "/" + sandbox.metadata->name : "";
}

}  // namespace

int print_pods(const std::string& socket) {
    RealWorld world;
    const auto connection = kubelet::connect_runtime(world.loop, "unix://" + socket);
    const auto running = world.run(look(connection->runtime()));
    (void)world.run(connection->close());
    if (!running) return fail("the host's container runtime does not respond: " + running.error().message);
    print("CONTAINER", "KIND", "POD", "NAME", "STATE");
    for (const cri::PodSandbox& sandbox : running->sandboxes.items) {
        const bool ready = sandbox.state == cri::PodSandboxState::SandboxReady;
        print(sandbox.id, "infra", pod_of(sandbox), "", ready ? "running" : "exited");
        for (const cri::Container& container : running->containers.containers) {
            if (container.pod_sandbox_id != sandbox.id) continue;
            print(container.id, "worker", pod_of(sandbox), container.metadata ? container.metadata->name : "", state_of(container.state));
        }
    }
    return 0;
}

}  // namespace porthole::cmd
