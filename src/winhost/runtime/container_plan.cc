#include "winhost/runtime/container_plan.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "winhost/runtime/program_spec.h"

namespace porthole::winhost {
namespace {

/// What Wine itself needs of a process' data before the program has allocated anything: measured, 15 MB.
constexpr std::uint64_t ProcessBaseline = 16 << 20;
/// Wine's server, service manager and drivers, and init: measured, 25 to 30 MB of private memory; the rest is room for their growth.
constexpr std::int64_t EmulationMemory = 64 << 20;
/// A program gets this much also where the host has nothing left, so that it starts and says itself what it cannot do.
constexpr std::uint64_t LeastCommit = 64 << 20;
/// CRI counts the whole machine as 10000.
constexpr std::int64_t WholeMachine = 10'000;

/// `words` as a command line; of an image with `args_escaped` they are one already.
std::string command_line_of(const std::vector<std::string>& words, bool args_escaped) {
    return args_escaped ? join(words, " ") : join_command_line(words);
}

}  // namespace

Result<ProgramSpec> plan_program(const cri::ContainerConfig& config, const ImageConfig& image, const std::string& hostname) {
    ProgramSpec spec;
    const std::string command =
        config.command.empty() ? command_line_of(image.entrypoint, image.args_escaped) : join_command_line(config.command);
    std::string arguments = join_command_line(config.args);
    if (config.args.empty() && config.command.empty()) arguments = command_line_of(image.command, image.args_escaped);
    spec.command_line = command + (command.empty() || arguments.empty() ? "" : " ") + arguments;
    if (spec.command_line.empty()) return Error(Reason::BadRequest, "no command specified");
    spec.directory = !config.working_dir.empty() ? config.working_dir : !image.working_dir.empty() ? image.working_dir : "C:\\";
    std::replace(spec.directory.begin(), spec.directory.end(), '/', '\\');
    if (spec.directory.starts_with('\\')) spec.directory = "C:" + spec.directory;
    spec.variables = image.environment;
    // Where a HostProcess container finds the files of its image; here it has a C: of its own with them.
    if (is_host_process(config)) spec.variables.push_back("CONTAINER_SANDBOX_MOUNT_POINT=C:");
    for (const cri::KeyValue& variable : config.envs) spec.variables.push_back(variable.key + "=" + variable.value);
    return spec;
}

bool is_host_process(const cri::ContainerConfig& config) {
    return config.windows && config.windows->security_context && config.windows->security_context->host_process;
}

Result<ContainerUser> plan_user(const cri::ContainerConfig& config, const ImageConfig& image) {
    std::string name = is_host_process(config) ? "" : image.user;  // the image knows no account of the host
    if (config.windows && config.windows->security_context && !config.windows->security_context->run_as_username.empty())
        name = config.windows->security_context->run_as_username;
    std::string plain = to_lower(name);
    if (is_host_process(config)) {
        if (plain.empty() || plain == "nt authority\\system") return ContainerUser::Administrator;
        if (plain == "nt authority\\local service" || plain == "nt authority\\network service") return ContainerUser::User;
    } else {
        if (plain.starts_with("user manager\\")) plain.erase(0, plain.find('\\') + 1);
        if (plain.empty() || plain == "containeradministrator" || plain == "s-1-5-93-2-1") return ContainerUser::Administrator;
        if (plain == "containeruser" || plain == "s-1-5-93-2-2") return ContainerUser::User;
    }
    return Error(
        Reason::Invalid,
        "the user \"" + name + "\" does not exist in the container: No mapping between account names and security IDs was done. (0x534)");
}

std::optional<std::uint64_t> commit_limit(std::string_view meminfo) {
    const auto bytes = [&](std::string_view key) -> std::optional<std::uint64_t> {
        const std::size_t at = meminfo.find(key);
        std::uint64_t kilobytes = 0;
        if (at == meminfo.npos || (at > 0 && meminfo[at - 1] != '\n')) return std::nullopt;
        const std::size_t digits = meminfo.find_first_not_of(' ', at + key.size());
        if (digits == meminfo.npos) return std::nullopt;
        const auto [end, code] = std::from_chars(meminfo.data() + digits, meminfo.data() + meminfo.size(), kilobytes);
        return code == std::errc() ? std::optional(kilobytes << 10) : std::nullopt;
    };
    const auto physical = bytes("MemTotal:"), page_files = bytes("SwapTotal:");
    return physical ? std::optional(*physical + page_files.value_or(0)) : std::nullopt;
}

ContainerLimits plan_limits(const cri::WindowsContainerResources* resources, int processors, std::optional<std::uint64_t> commit_left) {
    ContainerLimits limits;
    limits.cgroup.processes = ContainerProcessLimit;
    if (commit_left) limits.memory_per_process = std::max(*commit_left, LeastCommit) + ProcessBaseline;
    if (!resources) return limits;
    if (resources->memory_limit_in_bytes > 0) {
        const std::uint64_t own = static_cast<std::uint64_t>(resources->memory_limit_in_bytes) + ProcessBaseline;
        limits.memory_per_process = commit_left ? std::min(limits.memory_per_process, own) : own;
        limits.cgroup.memory_bytes = resources->memory_limit_in_bytes + EmulationMemory;
    }
    const std::int64_t maximum = std::clamp<std::int64_t>(resources->cpu_maximum, 0, WholeMachine);
    if (maximum > 0)
        limits.cgroup.cpu_quota_us = std::max<std::int64_t>(1000, OciLimits::CpuPeriodUs * processors * maximum / WholeMachine);
    if (resources->cpu_count > 0) limits.cgroup.cpu_quota_us = OciLimits::CpuPeriodUs * resources->cpu_count;
    return limits;
}

std::string plan_job_limits(const cri::WindowsContainerResources* resources, int processors) {
    if (!resources) return "0 0";
    std::int64_t rate = resources->cpu_maximum;
    if (resources->cpu_count > 0) rate = WholeMachine * std::min<std::int64_t>(resources->cpu_count, processors) / std::max(processors, 1);
    return std::to_string(std::max<std::int64_t>(resources->memory_limit_in_bytes, 0)) + " " +
           std::to_string(std::clamp<std::int64_t>(rate, 0, WholeMachine));
}

Result<std::string> plan_stop_event(cri::Signal signal, const std::string& image_signal) {
    struct Event {
        const char* name;
        const char* event;
    };
    static constexpr Event Events[] = {{"", "6"},        {"sigterm", "6"},   {"term", "6"},      {"15", "6"},         {"ctrlshutdown", "6"},
                                       {"ctrlc", "0"},   {"ctrlbreak", "1"}, {"ctrlclose", "2"}, {"ctrllogoff", "5"}, {"sigkill", "kill"},
                                       {"kill", "kill"}, {"9", "kill"}};
    std::string name = to_lower(image_signal);
    if (signal == cri::Signal::Sigterm) name = "sigterm";
    if (signal == cri::Signal::Sigkill) name = "sigkill";
    for (const Event& event : Events)
        if (name == event.name) return std::string(event.event);
    return Error(Reason::BadRequest, "Windows has no event for the stop signal \"" + image_signal + "\"");
}

}  // namespace porthole::winhost
