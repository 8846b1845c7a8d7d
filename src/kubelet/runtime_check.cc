#include "kubelet/runtime_check.h"

#include <cstdio>

#include "base/result.h"
#include "kubelet/devices/cdi_specs.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration CheckPeriod = 5s, RetryPeriod = 500ms, AnswerLimit = 15s;

/// Why a runtime of this name and version ("containerd://1.3.9") is too old; "" where it is not, or nobody knows.
std::string version_problem(const std::string& runtime) {
    constexpr std::string_view Containerd = "containerd://";
    if (!runtime.starts_with(Containerd)) return "";
    int major = 0, minor = 0;
    if (std::sscanf(runtime.c_str() + Containerd.size(), "%d.%d", &major, &minor) != 2) return "";
    if (std::pair(major, minor) >= std::pair(1, 4)) return "";
    return "container runtime version " + runtime.substr(Containerd.size()) + " < 1.4.0: upgrade containerd";
}

/// In the configuration that a runtime shows, "{\"sandboxImage\":…}".
std::string sandbox_image_in(const std::string& configuration) {
    const auto tree = schema::parse_json(configuration);
    return tree ? std::string(tree->string_at({"sandboxImage"})) : std::string();
}

}  // namespace

Task<> RuntimeCheck::run() {
    for (;;) {
        auto checked = co_await check();
        if (is_cancelled(checked)) co_return std::move(checked).error();
        CO_TRY_VOID(co_await loop_.sleep(is_well() ? CheckPeriod : RetryPeriod));
    }
}

Task<> RuntimeCheck::check() {
    const std::string problem_before = problem_, network_before = node_.network_problem;
    cri::StatusRequest request;
    request.verbose = !is_well();  // its configuration may have changed while it was away
    auto status = co_await with_timeout(runtime_.status(std::move(request)), AnswerLimit, "the container runtime's status");
    if (is_cancelled(status)) co_return std::move(status).error();
    if (!status) {
        problem_ = "container runtime is down: " + status.error().message;
    } else {
        CO_TRY_VOID(co_await read_version());
        take_conditions(*status);
        if (const auto told = status->info.find("config"); told != status->info.end()) sandbox_image_ = sandbox_image_in(told->second);
        if (problem_.empty()) problem_ = version_problem(version());
    }
    if (problem_before == problem_ && network_before == node_.network_problem) co_return {};
    tell();
    changed_();
    co_return {};
}

void RuntimeCheck::tell() const {
    if (!problem_.empty())
        log_.warn("container runtime is not ready", {{"problem", problem_}});
    else if (!node_.network_problem.empty())
        log_.warn("pod network is not ready", {{"problem", node_.network_problem}});
    else
        log_.info("container runtime is ready", {{"version", version()}});
}

Task<> RuntimeCheck::read_version() {
    if (!version().empty() && problem_.empty()) co_return {};
    CO_TRY(const auto version, co_await runtime_.version({}));
    node_.runtime_version = version.runtime_name + "://" +
                            (version.runtime_version.starts_with('v') ? version.runtime_version.substr(1) : version.runtime_version);
    node_.runtime_name = version.runtime_name;
    node_.runtime_knows_cdi = runtime_knows_cdi(node_.runtime_version);
    co_return {};
}

void RuntimeCheck::take_conditions(const cri::StatusResponse& response) {
    problem_.clear();
    node_.network_problem.clear();
    node_.runtime_handlers = response.runtime_handlers;
    if (!response.status) return;
    for (const cri::RuntimeCondition& one : response.status->conditions) {
        if (one.status) continue;
        const std::string text = one.type + "=false reason:" + one.reason + " message:" + one.message;
        if (one.type == "RuntimeReady") problem_ = "container runtime not ready: " + text;
        if (one.type == "NetworkReady") node_.network_problem = text;
    }
}

}  // namespace porthole::kubelet
