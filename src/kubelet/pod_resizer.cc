#include "kubelet/pod_resizer.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "objects/conditions.h"

namespace porthole::kubelet {
namespace {

/// Whether a container that was there is not now, and comes back.
bool awaits_restart(const core::Pod& pod, const PodRuntimeState& state) {
    return std::ranges::any_of(all_containers(pod), [&](const ContainerSpec& spec) {
        return spec.kind != ContainerKind::Ephemeral && state.find_newest(spec.container.name) &&
               should_restart(pod, spec.container, state);
    });
}

/// The memory limits that a resize lowers, in bytes. 0 for no limit.
struct LoweredLimits {
    std::int64_t pod = 0;
    std::map<std::string, std::int64_t> containers;
    bool empty() const { return pod == 0 && containers.empty(); }
};

LoweredLimits lowered_limits(const core::Pod& before, const core::Pod& after, const PodActions& actions) {
    const auto lowers = [](std::int64_t from, std::int64_t to) { return to != 0 && (from == 0 || to < from); };
    const auto limit_of = [](const core::ResourceRequirements& own, const core::Pod& pod) {
        return amount_of(limits_in_force(own, pod.spec.resources), "memory").value();
    };
    LoweredLimits lowered;
    const std::int64_t pod_limit = PodFootprint::memory_limit(after);
    if (lowers(PodFootprint::memory_limit(before), pod_limit)) lowered.pod = pod_limit;
    for (const ContainerToResize& change : actions.containers_to_resize) {
        const auto spec = find_container(before, change.container.name);
        const std::int64_t limit = limit_of(change.container.resources, after);
        if (spec && lowers(limit_of(spec->container.resources, before), limit)) lowered.containers[change.container.name] = limit;
    }
    return lowered;
}

/// Which of `lowered` would be below what is in use now.
std::vector<std::string> limits_below_use(const LoweredLimits& lowered, const std::vector<cri::ContainerStats>& in_use) {
    std::vector<std::string> problems;
    const auto check = [&](const std::string& whose, std::int64_t limit, std::int64_t used) {
        if (used < limit) return;
        problems.push_back("attempting to set " + whose + " memory limit (" + std::to_string(limit) + ") below current usage (" +
                           std::to_string(used) + ")");
    };
    std::int64_t used_by_pod = 0;
    for (const cri::ContainerStats& stats : in_use) {
        if (!stats.attributes || !stats.attributes->metadata || !stats.memory || !stats.memory->usage_bytes) continue;
        const auto used = static_cast<std::int64_t>(stats.memory->usage_bytes->value);
        used_by_pod += used;
        if (const auto limit = lowered.containers.find(stats.attributes->metadata->name); limit != lowered.containers.end())
            check("container \"" + limit->first + "\"", limit->second, used);
    }
    if (lowered.pod != 0) check("pod", lowered.pod, used_by_pod);
    return problems;
}

}  // namespace

PodResizer::PodResizer(RuntimeService& runtime, PodFootprint& footprint, const NodeFacts& node, client::EventRecorder& events,
                       const core::Pod& pod)
    : runtime_(runtime), footprint_(footprint), node_(node), events_(events), given_(reported_as_given(pod)) {}

void PodResizer::apply_to(PodRuntimeState& state) {
    std::erase_if(given_, [&](const auto& entry) { return !state.find_by_id(entry.first); });
    for (cri::ContainerStatus& container : state.containers)
        if (const auto found = given_.find(container.id); found != given_.end()) set_given_resources(container, found->second);
}

bool PodResizer::is_ahead(const WantedPod& wanted, const PodRuntimeState& state) const {
    if (wanted.termination || node_.windows) return false;
    const core::Pod& pod = *wanted.pod;
    return std::ranges::any_of(all_containers(pod), [&](const ContainerSpec& spec) {
        const cri::ContainerStatus* status = state.find_newest(spec.container.name);
        const auto given = status && is_running(*status) ? given_resources(*status) : std::nullopt;
        return given && (resize_step(spec.container, pod.spec.resources, *given) != ResizeStep::None ||
                         differ_at_pod_level(given->pod, pod.spec.resources));
    });
}

void PodResizer::tell_of_end(const WantedPod& wanted, const PodRuntimeState& state) {
    if (is_ahead(wanted, state)) {
        begun_ = true;
        return;
    }
    // What has ended was not resized; what takes its place is made with what the pod asks for.
    const core::Pod& pod = *wanted.pod;
    if (!begun_ || wanted.termination || !state.has_running_container() || awaits_restart(pod, state)) return;
    begun_ = false;
    error_.clear();
    events_.normal(reference_to(pod), "ResizeCompleted", resize_message("Pod resize completed", pod));
}

void PodResizer::add_conditions(const WantedPod& wanted, const PodRuntimeState& state, SystemTime now, core::PodStatus& status) const {
    const core::Pod& pod = *wanted.pod;
    const auto& pending = wanted.resize_pending;
    const auto show = [&](const char* type, bool holds, std::string reason, std::string message) {
        if (!holds) {
            std::erase_if(status.conditions, [&](const core::PodCondition& condition) { return condition.type == type; });
            return;
        }
        core::PodCondition condition{.type = type, .status = "True", .reason = std::move(reason), .message = std::move(message)};
        condition.observed_generation = pod.metadata.generation;
        objects::set_condition(status.conditions, std::move(condition), Timestamp(now));
    };
    show("PodResizePending", pending.has_value(), pending ? pending->reason : "", pending ? pending->message : "");
    show("PodResizeInProgress", is_ahead(wanted, state) || (begun_ && !wanted.termination && awaits_restart(pod, state)),
         error_.empty() ? "" : "Error", error_);
}

Task<> PodResizer::resize(std::shared_ptr<const core::Pod> pod, const PodActions& actions, PodRuntimeState& state) {
    if (actions.containers_to_resize.empty() && !actions.resize_pod) co_return {};
    auto resized = co_await change_limits(*pod, actions, state);
    apply_to(state);
    if (is_cancelled(resized)) co_return resized;
    if (resized) {
        error_.clear();
    } else if (error_ != resized.error().message) {
        error_ = resized.error().message;
        events_.warning(reference_to(*pod), "ResizeError", resize_message("Pod resize error", *pod, error_));
    }
    co_return resized;
}

Task<> PodResizer::change_limits(const core::Pod& pod, const PodActions& actions, PodRuntimeState& state) {
    const core::Pod before = with_given_resources(pod, state);
    CO_TRY_VOID(co_await check_memory_in_use(before, pod, actions));
    CO_TRY_VOID(footprint_.ensure_cgroup_for_both(before, pod));
    for (const ContainerToResize& change : actions.containers_to_resize) CO_TRY_VOID(co_await change_container(pod, change, state));
    apply_to(state);
    CO_TRY_VOID(footprint_.ensure_cgroup(pod));
    for (const cri::ContainerStatus& container : state.containers)
        if (const auto given = given_resources(container)) given_[container.id] = {given->container, pod.spec.resources};
    co_return {};
}

Task<> PodResizer::change_container(const core::Pod& pod, const ContainerToResize& change, const PodRuntimeState& state) {
    const core::ResourceRequirements& wanted = change.container.resources;
    cri::UpdateContainerResourcesRequest request;
    request.container_id = change.id;
    request.linux = linux_resources(wanted.requests, limits_in_force(wanted, pod.spec.resources));
    CO_TRY_VOID(co_await runtime_.update_container_resources(std::move(request)));
    const cri::ContainerStatus* status = state.find_by_id(change.id);
    if (const auto given = status ? given_resources(*status) : std::nullopt) given_[change.id] = {wanted, given->pod};
    co_return {};
}

/// The kernel would end what a limit below its use limits.
Task<> PodResizer::check_memory_in_use(const core::Pod& before, const core::Pod& after, const PodActions& actions) {
    const LoweredLimits lowered = lowered_limits(before, after, actions);
    if (lowered.empty()) co_return {};
    cri::ListContainerStatsRequest request;
    request.filter.emplace().label_selector[PodUidLabel] = after.metadata.uid;
    CO_TRY(const auto listed, co_await runtime_.list_container_stats(std::move(request)));
    const std::vector<std::string> problems = limits_below_use(lowered, listed.stats);
    if (problems.empty()) co_return {};
    co_return Error(Reason::Conflict,
                    "cannot decrease memory limits: " + (problems.size() == 1 ? problems.front() : "[" + join(problems, ", ") + "]"));
}

}  // namespace porthole::kubelet
