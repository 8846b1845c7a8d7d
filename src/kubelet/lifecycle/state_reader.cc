#include "kubelet/lifecycle/state_reader.h"

#include <algorithm>

#include "base/result.h"
#include "kubelet/container/windows_config.h"
#include "windows/exit_codes.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t TerminationMessageLimit = 4096;
constexpr std::size_t FallbackBytes = 2048, FallbackLines = 80;

std::string value_of(const std::map<std::string, std::string>& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? "" : found->second;
}

template <class T>
void newest_first(std::vector<T>& list) {
    std::sort(list.begin(), list.end(), [](const T& a, const T& b) { return a.created_at > b.created_at; });
}

PodSighting& sighting_of(std::map<std::string, PodSighting>& pods, const std::map<std::string, std::string>& labels) {
    PodSighting& pod = pods[value_of(labels, PodUidLabel)];
    pod.uid = value_of(labels, PodUidLabel);
    pod.name = value_of(labels, PodNameLabel);
    pod.namespace_ = value_of(labels, PodNamespaceLabel);
    return pod;
}

}  // namespace

Task<PodRuntimeState> StateReader::read(std::string uid) {
    PodRuntimeState state;
    cri::ListPodSandboxRequest sandboxes;
    sandboxes.filter.emplace().label_selector[PodUidLabel] = uid;
    CO_TRY(const auto listed_sandboxes, co_await runtime_.list_pod_sandbox(std::move(sandboxes)));
    for (const cri::PodSandbox& sandbox : listed_sandboxes.items) {
        cri::PodSandboxStatusRequest request;
        request.pod_sandbox_id = sandbox.id;
        auto found = co_await runtime_.pod_sandbox_status(std::move(request));
        if (is_not_found(found)) continue;  // removed meanwhile
        if (!found) co_return std::move(found).error();
        if (found->status) state.sandboxes.push_back(std::move(*found->status));
    }
    cri::ListContainersRequest containers;
    containers.filter.emplace().label_selector[PodUidLabel] = uid;
    CO_TRY(const auto listed_containers, co_await runtime_.list_containers(std::move(containers)));
    for (const cri::Container& container : listed_containers.containers) {
        cri::ContainerStatusRequest request;
        request.container_id = container.id;
        auto found = co_await runtime_.container_status(std::move(request));
        if (is_not_found(found)) continue;
        if (!found) co_return std::move(found).error();
        if (!found->status) continue;
        if (is_exited(*found->status)) add_termination_message(*found->status);
        state.containers.push_back(std::move(*found->status));
    }
    newest_first(state.sandboxes);
    newest_first(state.containers);
    co_return state;
}

Task<std::map<std::string, PodSighting>> StateReader::list() {
    std::map<std::string, PodSighting> pods;
    CO_TRY(const auto sandboxes, co_await runtime_.list_pod_sandbox({}));
    for (const cri::PodSandbox& sandbox : sandboxes.items) {
        if (!sandbox.labels.contains(PodUidLabel)) continue;  // somebody else's
        PodSighting& pod = sighting_of(pods, sandbox.labels);
        pod.states[sandbox.id] = static_cast<int>(sandbox.state);
        pod.has_running = pod.has_running || sandbox.state == cri::PodSandboxState::SandboxReady;
    }
    CO_TRY(const auto containers, co_await runtime_.list_containers({}));
    for (const cri::Container& container : containers.containers) {
        if (!container.labels.contains(PodUidLabel)) continue;
        PodSighting& pod = sighting_of(pods, container.labels);
        pod.states[container.id] = static_cast<int>(container.state);
        pod.has_running = pod.has_running || container.state == cri::ContainerState::ContainerRunning;
    }
    co_return pods;
}

void StateReader::add_termination_message(cri::ContainerStatus& container) {
    const std::string path = value_of(container.annotations, TerminationMessagePathAnnotation);
    std::string message;
    for (const cri::Mount& mount : container.mounts) {
        if (path.empty() || (mount.container_path != path && mount.container_path != windows_path(path))) continue;
        message = files_.read_untrusted(mount.host_path, 0, TerminationMessageLimit).value_or("");
    }
    const bool fall_back =
        value_of(container.annotations, TerminationMessagePolicyAnnotation) == core::TerminationMessagePolicy::FallbackToLogsOnError;
    if (message.empty() && container.exit_code != 0) message = explanation(container, fall_back);
    if (message.empty()) return;
    container.message = container.message.empty() ? message : container.message + ": " + message;
}

/// What the exit code means and, if wanted, the end of the log.
std::string StateReader::explanation(const cri::ContainerStatus& container, bool with_log) {
    if (!platform_.windows) return with_log ? log_tail(container) : "";
    const std::string log = log_tail(container);
    const std::string why = windows::exit_explanation(container.exit_code, log);
    if (!with_log) return why;
    return why + (why.empty() || log.empty() ? "" : "\n") + log;
}

std::string StateReader::log_tail(const cri::ContainerStatus& container) {
    constexpr std::uint64_t Window = 64 << 10;
    const auto status = files_.link_status(container.log_path);  // a container of an emulated Windows host may have put a link there
    if (!status) return "";
    const std::uint64_t offset = status->size > Window ? status->size - Window : 0;
    const auto text = files_.read_untrusted(container.log_path, offset, Window);
    return text ? last_log_lines(*text, FallbackBytes, FallbackLines) : "";
}

std::string last_log_lines(std::string_view log, std::size_t bytes, std::size_t lines) {
    std::string text;
    std::size_t count = 0;
    while (!log.empty() && count < lines && text.size() < bytes) {
        const std::size_t end = log.ends_with('\n') ? log.size() - 1 : log.size();
        const std::size_t before = log.substr(0, end).rfind('\n');
        const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
        std::string_view line = log.substr(begin, end - begin);
        log = log.substr(0, begin);
        // "<time> <stream> <F|P> <text>"
        bool full = true;
        for (int field = 0; field < 3; ++field) {
            const std::size_t space = std::min(line.find(' '), line.size());
            if (field == 2) full = line.substr(0, space) != "P";
            line.remove_prefix(std::min(space + 1, line.size()));
        }
        text.insert(0, std::string(line) + (full ? "\n" : ""));
        ++count;
    }
    if (text.size() > bytes) text.erase(0, text.size() - bytes);
    return text;
}

}  // namespace porthole::kubelet
