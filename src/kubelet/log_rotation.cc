#include "kubelet/log_rotation.h"

#include "base/result.h"
#include "base/time/time.h"

namespace porthole::kubelet {
namespace {

std::string suffix_of(const FileStatus& status) {
    std::string text = Timestamp::from_nanoseconds(status.modified.time_since_epoch().count()).to_string();  // 2026-01-31T12:00:00Z
    text[10] = '-';
    std::erase_if(text, [&, at = 0](char c) mutable { return at++ != 10 && (c == '-' || c == ':' || c == 'Z'); });
    return text;
}

}  // namespace

Task<> LogRotation::rotate() {
    cri::ListContainersRequest request;
    request.filter.emplace().state.emplace().state = cri::ContainerState::ContainerRunning;
    CO_TRY(const auto listed, co_await runtime_.list_containers(std::move(request)));
    for (const cri::Container& container : listed.containers) {
        if (container.state != cri::ContainerState::ContainerRunning) continue;
        auto rotated = co_await rotate_one(container.id);
        if (is_cancelled(rotated)) co_return std::move(rotated).error();
        if (!rotated) log_.warn("container log cannot be rotated", {{"container", container.id}, {"error", rotated.error().message}});
    }
    co_return {};
}

Task<> LogRotation::rotate_one(std::string id) {
    cri::ContainerStatusRequest request;
    request.container_id = id;
    CO_TRY(const auto found, co_await runtime_.container_status(std::move(request)));
    if (!found.status || found.status->log_path.empty()) co_return {};
    const std::string path = found.status->log_path;
    const auto status = files_.status(path);
    if (!status || static_cast<std::int64_t>(status->size) < max_bytes_) co_return {};
    std::string aside = path + "." + suffix_of(*status);
    if (files_.exists(aside)) co_return {};  // rotated within this second
    CO_TRY_VOID(files_.rename(path, aside));
    cri::ReopenContainerLogRequest reopen;
    reopen.container_id = id;
    auto reopened = co_await runtime_.reopen_container_log(std::move(reopen));
    if (!reopened) {
        (void)files_.rename(aside, path);  // the runtime still writes there
        co_return std::move(reopened).error();
    }
    co_return remove_old(path);
}

/// The names sort by time.
Result<void> LogRotation::remove_old(const std::string& path) {
    const std::string directory = parent_path(path), prefix = base_name(path) + ".";
    TRY(const auto names, files_.list(directory));
    std::vector<std::string> aside;
    for (const std::string& name : names)
        if (name.starts_with(prefix)) aside.push_back(name);
    for (std::size_t i = 0; i + static_cast<std::size_t>(max_files_ - 1) < aside.size(); ++i)
        TRY_VOID(files_.remove(directory + "/" + aside[i]));
    return {};
}

}  // namespace porthole::kubelet
