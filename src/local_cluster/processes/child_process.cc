#include "local_cluster/processes/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstring>
#include <fstream>
#include <sstream>

namespace porthole::local_cluster {
namespace {

/// What the new process does between fork and exec: only async-signal-safe calls. Returns the step that failed.
const char* become(const ChildCommand& command, char* const* arguments, int log) {
    if (::setsid() < 0) return "setsid";
    if (!command.network_namespace.empty()) {
        const int fd = ::open(command.network_namespace.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0 || ::setns(fd, CLONE_NEWNET) < 0) return "network namespace";
    }
    const int null = ::open("/dev/null", O_RDONLY);
    if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) return "standard streams";
    int first_to_close = 3;
    if (command.inherited_fd >= 0) {
        if (command.inherited_fd == 3) {
            ::fcntl(3, F_SETFD, 0);
        } else if (::dup2(command.inherited_fd, 3) < 0) {
            return "inherited descriptor";
        }
        first_to_close = 4;
    }
    ::syscall(SYS_close_range, first_to_close, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(arguments[0], arguments);
    return "exec";
}

/// Resumes its task when the process behind a pidfd has ended.
class ExitWait final : public Operation<void> {
public:
    ExitWait(AsioLoop& loop, int pidfd) : descriptor_(loop.context(), pidfd) {}

private:
    void start() override {
        descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, [this](boost::system::error_code error) {
            complete(error ? Result<void>(cancelled_error()) : Result<void>());
        });
    }
    void cancel() override { descriptor_.cancel(); }
    boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

NextCommand always(ChildCommand command) {
    return [command = std::move(command)]() -> Task<ChildCommand> { co_return command; };
}

Result<ProcessId> start_child(const ChildCommand& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    const int log = ::open(command.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) return Error(Reason::Io, "cannot open " + command.log_file.string() + ": " + std::strerror(errno));
    int report[2];
    CHECK(::pipe2(report, O_CLOEXEC) == 0);
    const int pid = ::fork();
    if (pid == 0) {
        const char* step = become(command, arguments.data(), log);
        char text[128];
        const int length = std::snprintf(text, sizeof text, "%s: %s", step, std::strerror(errno));
        [[maybe_unused]] const auto written = ::write(report[1], text, static_cast<std::size_t>(length));
        ::_exit(127);
    }
    ::close(log);
    ::close(report[1]);
    if (pid < 0) {
        ::close(report[0]);
        return Error(Reason::Io, std::string("cannot fork: ") + std::strerror(errno));
    }
    char text[128];
    const ssize_t length = ::read(report[0], text, sizeof text);  // ends at exec, which closes the pipe
    ::close(report[0]);
    if (length > 0) {
        ::waitpid(pid, nullptr, 0);
        return Error(Reason::Io, "cannot start " + command.arguments[0] + ": " + std::string(text, static_cast<std::size_t>(length)));
    }
    return identify(pid);
}

ProcessId identify(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (pid <= 0 || !std::getline(file, text)) return {pid, 0};
    std::istringstream fields(text.substr(text.rfind(')') + 1));  // the name before it may hold anything
    std::string state, skipped;
    fields >> state;
    if (state == "Z" || state == "X") return {pid, 0};
    for (int field = 4; field < 22; ++field) fields >> skipped;
    ProcessId process{pid, 0};
    fields >> process.start_time;
    return process;
}

bool is_running(const ProcessId& process) { return process.start_time != 0 && identify(process.pid) == process; }

SystemTime started_at(const ProcessId& process, SystemTime now) {
    timespec since_boot{};
    CHECK(::clock_gettime(CLOCK_BOOTTIME, &since_boot) == 0);
    const auto machine = std::chrono::seconds(since_boot.tv_sec) + std::chrono::nanoseconds(since_boot.tv_nsec);
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto start = std::chrono::milliseconds(process.start_time * 1000 / ticks);
    return now - std::chrono::duration_cast<Duration>(machine - start);
}

void send_signal(const ProcessId& process, int signal) {
    if (is_running(process)) ::kill(process.pid, signal);
}

Task<std::string> wait_for_exit(AsioLoop& loop, ProcessId process) {
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (pidfd >= 0 && is_running(process)) {
        ExitWait wait(loop, pidfd);  // owns the descriptor
        CO_TRY_VOID(co_await wait);
    } else if (pidfd >= 0) {
        ::close(pidfd);
    }
    int status = 0;
    if (::waitpid(process.pid, &status, WNOHANG) != process.pid) co_return "";
    co_return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status));
}

Task<> stop_process(AsioLoop& loop, ProcessId process, Duration grace) {
    send_signal(process, SIGTERM);
    const auto ended = co_await with_timeout(wait_for_exit(loop, process), grace, "waiting for a process to end");
    if (ended) co_return {};
    if (ended.error().reason != Reason::Timeout) co_return ended.error();
    send_signal(process, SIGKILL);
    CO_TRY_VOID(co_await wait_for_exit(loop, process));
    co_return {};
}

}  // namespace porthole::local_cluster
