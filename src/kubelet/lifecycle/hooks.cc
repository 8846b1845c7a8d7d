#include "kubelet/lifecycle/hooks.h"

#include "base/time/bounded_seconds.h"
#include "kubelet/probes/probe_manager.h"

namespace porthole::kubelet {
namespace {

Task<> run_exec(RuntimeService& runtime, const core::ExecAction& action, std::string container_id, Duration limit) {
    cri::ExecSyncRequest request;
    request.container_id = std::move(container_id);
    request.cmd = action.command;
    request.timeout = std::chrono::ceil<std::chrono::seconds>(limit).count();
    CO_TRY(const auto ended, co_await runtime.exec_sync(std::move(request)));
    if (ended.exit_code != 0)
        co_return Error(Reason::Unknown, "command exited with " + std::to_string(ended.exit_code) + ": " + kept_output(ended));
    co_return {};
}

}  // namespace

Task<> ContainerHooks::run(core::LifecycleHandler handler, core::Container container, std::string container_id, std::string pod_address,
                           Duration limit) {
    if (handler.exec) co_return co_await run_exec(runtime_, *handler.exec, std::move(container_id), limit);
    if (handler.http_get) {
        CO_TRY(HttpTarget target, http_target(*handler.http_get, container, pod_address));
        CO_TRY(const ProbeOutcome outcome, co_await network_.http(std::move(target), limit));
        if (!outcome.success) co_return Error(Reason::Unknown, outcome.output);
        co_return {};
    }
    if (handler.sleep) co_return co_await loop_.sleep(std::min<Duration>(bounded_seconds(handler.sleep->seconds), limit));
    if (handler.tcp_socket) co_return Error(Reason::BadRequest, "tcpSocket lifecycle hooks have never been supported; use exec or httpGet");
    co_return Error(Reason::BadRequest, "invalid handler: it names no action");
}

}  // namespace porthole::kubelet
