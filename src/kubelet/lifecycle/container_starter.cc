#include "kubelet/lifecycle/container_starter.h"

#include "base/result.h"
#include "kubelet/lifecycle/container_killer.h"

namespace porthole::kubelet {
namespace {

constexpr Duration HookLimit = std::chrono::hours(1);  // a postStart hook has no limit of its own

}  // namespace

Task<std::optional<WaitingReason>> ContainerStarter::start(const PodStartContext& context, ContainerSpec spec) {
    const ContainerKind kind = spec.kind;
    const bool host_process = preparer_.runs_on_host(*context.pod, spec.container);
    counts_.add_start(kind, host_process);
    CO_TRY(auto failure, co_await try_to_start(context, std::move(spec)));
    if (failure) counts_.add_failure(kind, host_process, failure->reason);
    co_return failure;
}

Task<std::optional<WaitingReason>> ContainerStarter::try_to_start(const PodStartContext& context, ContainerSpec spec) {
    const core::ObjectReference reference = reference_to(*context.pod, &spec);
    const auto failed = [&](std::string reason, std::string message) {
        events_.warning(reference, "Failed", "Error: " + message);
        return std::optional(WaitingReason{std::move(reason), std::move(message)});
    };
    CO_TRY(ImageOutcome image, co_await puller_.ensure_image({.reference = reference_to(*context.pod, &spec),
                                                              .pod_uid = context.pod->metadata.uid,
                                                              .name = spec.container.image,
                                                              .pull_policy = spec.container.image_pull_policy},
                                                             context.prepared.pull_secrets, context.sandbox));
    if (image.failure) {
        events_.warning(reference, "Failed", "Error: " + image.failure->reason);
        co_return image.failure;
    }
    auto config = co_await preparer_.prepare(context, spec, image);
    if (!config) {
        if (is_cancelled(config)) co_return std::move(config).error();
        co_return failed("CreateContainerConfigError", config.error().message);
    }
    const std::int32_t attempt = static_cast<std::int32_t>(config->metadata->attempt);
    cri::CreateContainerRequest create;
    create.pod_sandbox_id = context.state.ready_sandbox()->id;
    create.config = std::move(*config);
    create.sandbox_config = context.sandbox;
    auto created = co_await runtime_.create_container(std::move(create));
    if (!created) {
        if (is_cancelled(created)) co_return std::move(created).error();
        co_return failed("CreateContainerError", created.error().message);
    }
    const std::string id = created->container_id;
    events_.normal(reference, "Created", "Container created");

    cri::StartContainerRequest start;
    start.container_id = id;
    auto started = co_await runtime_.start_container(std::move(start));
    if (!started) {
        if (is_cancelled(started)) co_return std::move(started).error();
        co_return failed("RunContainerError", started.error().message);
    }
    events_.normal(reference, "Started", "Container started");
    const std::string& name = spec.container.name;
    links_.add(*context.pod, name, id, context.sandbox.log_directory + "/" + name + "/" + std::to_string(attempt) + ".log");
    if (!spec.container.lifecycle || !spec.container.lifecycle->post_start) co_return std::optional<WaitingReason>();
    co_return co_await run_post_start(context, std::move(spec), id);
}

Task<std::optional<WaitingReason>> ContainerStarter::run_post_start(const PodStartContext& context, ContainerSpec spec, std::string id) {
    const std::string address = context.addresses.empty() ? "" : context.addresses.front();
    auto hooked = co_await hooks_.run(*spec.container.lifecycle->post_start, spec.container, id, address, HookLimit);
    if (hooked) co_return std::optional<WaitingReason>();
    if (is_cancelled(hooked)) co_return std::move(hooked).error();
    const core::ObjectReference reference = reference_to(*context.pod, &spec);
    log_.warn("postStart hook failed",
              {{"pod", pod_key(*context.pod)}, {"container", spec.container.name}, {"error", hooked.error().message}});
    events_.warning(reference, "FailedPostStartHook", "PostStartHook failed");
    events_.normal(reference, "Killing", "FailedPostStartHook");
    cri::StopContainerRequest stop;
    stop.container_id = id;
    stop.timeout = std::chrono::ceil<std::chrono::seconds>(grace_period(*context.pod, std::nullopt)).count();
    CO_TRY_VOID(co_await runtime_.stop_container(std::move(stop)));
    co_return WaitingReason{"PostStartHookError", "PostStartHook failed: " + hooked.error().message};
}

}  // namespace porthole::kubelet
