#include "cmd/pod_removal.h"

#include "kubelet/cri/cri_grpc.h"

namespace porthole::cmd {
namespace {

using namespace std::chrono_literals;
namespace cri = kubelet::cri;

Task<> remove_all(kubelet::RuntimeService& runtime) {
    CO_TRY(const auto listed, co_await runtime.list_pod_sandbox({}));
    for (const cri::PodSandbox& sandbox : listed.items) {
        // What cannot be stopped in good order is killed afterwards; the others must not wait for it.
        (void)co_await with_timeout(runtime.stop_pod_sandbox({.pod_sandbox_id = sandbox.id}), 10s, "stopping a sandbox");
        (void)co_await with_timeout(runtime.remove_pod_sandbox({.pod_sandbox_id = sandbox.id}), 5s, "removing a sandbox");
    }
    co_return {};
}

}  // namespace

Task<> remove_pods(AsioLoop& loop, std::string endpoint) {
    const auto connection = kubelet::connect_runtime(loop, endpoint);
    auto removed = co_await remove_all(connection->runtime());
    CO_TRY_VOID(co_await connection->close());
    co_return removed;
}

}  // namespace porthole::cmd
