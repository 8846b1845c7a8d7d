#include "kubelet/lifecycle/container_gc.h"

#include "base/result.h"

#include <algorithm>
#include <set>

namespace porthole::kubelet {
namespace {

std::string label(const std::map<std::string, std::string>& labels, const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? "" : found->second;
}

}  // namespace

Task<> ContainerGc::collect(std::function<bool(const std::string& uid)> wanted, bool sources_ready) {
    CO_TRY(auto listed, co_await runtime_.list_containers({}));
    std::map<std::pair<std::string, std::string>, std::vector<cri::Container>> ended;
    std::set<std::string> used_sandboxes;
    for (cri::Container& container : listed.containers) {
        const std::string uid = label(container.labels, PodUidLabel);
        if (uid.empty()) continue;
        const bool done =
            container.state == cri::ContainerState::ContainerExited || container.state == cri::ContainerState::ContainerUnknown;
        if (done) {
            ended[{uid, label(container.labels, ContainerNameLabel)}].push_back(std::move(container));
        } else {
            used_sandboxes.insert(container.pod_sandbox_id);
        }
    }
    for (auto& [key, containers] : ended) {
        std::sort(containers.begin(), containers.end(), [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
        const bool pod_gone = sources_ready && !wanted(key.first);
        const std::size_t kept = pod_gone ? 0 : 1;
        for (std::size_t i = 0; i < containers.size(); ++i) {
            if (i < kept) {
                used_sandboxes.insert(containers[i].pod_sandbox_id);
                continue;
            }
            CO_TRY_VOID(co_await remove_container(containers[i].id));
        }
    }
    CO_TRY(auto sandboxes, co_await runtime_.list_pod_sandbox({}));
    std::map<std::string, std::int64_t> newest;
    for (const cri::PodSandbox& sandbox : sandboxes.items) {
        std::int64_t& at = newest[label(sandbox.labels, PodUidLabel)];
        at = std::max(at, sandbox.created_at);
    }
    for (const cri::PodSandbox& sandbox : sandboxes.items) {
        const std::string uid = label(sandbox.labels, PodUidLabel);
        if (uid.empty() || sandbox.state == cri::PodSandboxState::SandboxReady || used_sandboxes.contains(sandbox.id)) continue;
        const bool pod_gone = sources_ready && !wanted(uid);
        // The newest sandbox of a living pod carries the count of attempts.
        if (!pod_gone && sandbox.created_at == newest[uid]) continue;
        CO_TRY_VOID(co_await remove_sandbox(sandbox.id, false));
    }
    if (sources_ready) remove_logs(wanted);
    co_return {};
}

Task<> ContainerGc::remove_pod(std::string uid) {
    cri::ListContainersRequest containers;
    containers.filter.emplace().label_selector[PodUidLabel] = uid;
    CO_TRY(const auto listed, co_await runtime_.list_containers(std::move(containers)));
    for (const cri::Container& container : listed.containers) CO_TRY_VOID(co_await remove_container(container.id));
    cri::ListPodSandboxRequest sandboxes;
    sandboxes.filter.emplace().label_selector[PodUidLabel] = uid;
    CO_TRY(const auto found, co_await runtime_.list_pod_sandbox(std::move(sandboxes)));
    for (const cri::PodSandbox& sandbox : found.items)
        CO_TRY_VOID(co_await remove_sandbox(sandbox.id, sandbox.state == cri::PodSandboxState::SandboxReady));
    co_return {};
}

Task<> ContainerGc::remove_container(std::string id) {
    cri::RemoveContainerRequest request;
    request.container_id = id;
    CO_TRY_VOID(ignore_not_found(co_await runtime_.remove_container(std::move(request))));
    links_.remove(id);
    co_return {};
}

Task<> ContainerGc::remove_sandbox(std::string id, bool ready) {
    if (ready) {
        cri::StopPodSandboxRequest stop;
        stop.pod_sandbox_id = id;
        CO_TRY_VOID(ignore_not_found(co_await runtime_.stop_pod_sandbox(std::move(stop))));
    }
    cri::RemovePodSandboxRequest request;
    request.pod_sandbox_id = id;
    CO_TRY_VOID(ignore_not_found(co_await runtime_.remove_pod_sandbox(std::move(request))));
    co_return {};
}

void ContainerGc::remove_logs(const std::function<bool(const std::string& uid)>& wanted) {
    for (const std::string& name : files_.list(log_root_).value_or(std::vector<std::string>())) {
        const std::size_t underscore = name.rfind('_');
        if (underscore == std::string::npos || wanted(name.substr(underscore + 1))) continue;
        if (const auto removed = files_.remove_all(log_root_ + "/" + name); !removed)
            log_.warn("log directory cannot be removed", {{"path", log_root_ + "/" + name}, {"error", removed.error().message}});
    }
}

}  // namespace porthole::kubelet
