#include "base/time/time.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace porthole {
namespace {

constexpr std::size_t OutputLimit = 8 << 20;  // bytes kept of each stream; the rest is read and dropped

Error io_error(const std::string& what, int code) { return Error(Reason::Io, what + ": " + std::strerror(code)); }

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }
    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

struct Pipe {
    Descriptor read, write;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("pipe", errno);
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Moves the calling thread into a network namespace and back. Only the thread moves, so the rest of the program keeps its own.
class NetworkNamespace {
public:
    ~NetworkNamespace() {
        // A worker thread left in a foreign namespace would run later work in the wrong network.
        if (own_.is_open()) CHECK(::setns(own_.get(), CLONE_NEWNET) == 0);
    }
    Result<void> enter(const std::string& path) {
        Descriptor target(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!target.is_open()) {
            const int code = errno;
            return Error(code == ENOENT ? Reason::NotFound : Reason::Io, "opening network namespace " + path + ": " + std::strerror(code));
        }
        Descriptor own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
        if (!own.is_open()) return io_error("opening own network namespace", errno);
        if (::setns(target.get(), CLONE_NEWNET) != 0) return io_error("entering network namespace " + path, errno);
        own_ = std::move(own);
        return {};
    }

private:
    Descriptor own_;
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        if (!added.contains(std::string(text.substr(0, text.find('='))))) merged.emplace_back(text);
    }
    for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
    return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Starts the program as the leader of a process group of its own, with all signals at their defaults.
Result<pid_t> spawn(Command& command, const Pipe& input, const Pipe& output, const Pipe& errors) {
    NetworkNamespace network;
    if (!command.network_namespace.empty()) TRY_VOID(network.enter(command.network_namespace));

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, output.write.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, errors.write.get(), 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> environment = merged_environment(command.environment);
    pid_t pid = 0;
    const int code = ::posix_spawnp(&pid, command.arguments[0].c_str(), &actions, &attributes, pointers(command.arguments).data(),
                                    pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code == ENOENT) return Error(Reason::NotFound, command.arguments[0] + ": no such program");
    if (code != 0) return io_error("starting " + command.arguments[0], code);
    return pid;
}

/// Reads what is there into `text`; closes at the end of the stream.
void drain(Descriptor& stream, std::string& text) {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(stream.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) return stream.close();
    text.append(buffer.data(), std::min<std::size_t>(count, OutputLimit - std::min(text.size(), OutputLimit)));
}

void feed(Descriptor& stream, std::string_view& input) {
    if (!input.empty()) {
        const ssize_t count = ::write(stream.get(), input.data(), input.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
        input.remove_prefix(count < 0 ? input.size() : count);  // a program that does not read its input is not an error
    }
    if (input.empty()) stream.close();
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

/// One program from start to end, on a worker thread. `stop` becomes readable when the waiting task is cancelled.
class Execution {
public:
    Execution(Command command, int stop) : command_(std::move(command)), stop_(stop) {}

    Result<CommandOutput> run() {
        block_sigpipe();
        TRY(Pipe input, make_pipe());
        TRY(Pipe output, make_pipe());
        TRY(Pipe errors, make_pipe());
        TRY(pid_, spawn(command_, input, output, errors));
        input_ = std::move(input.write);
        output_ = std::move(output.read);
        errors_ = std::move(errors.read);
        input.read.close();
        output.write.close();
        errors.write.close();
        ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
        exited_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));

        const Result<void> ended = communicate();
        if (!ended) ::kill(-pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        if (!ended) return ended.error();
        result_.exit_code = exit_code_of(status);
        return std::move(result_);
    }

private:
    static void block_sigpipe() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    }

    /// Moves bytes until the program has exited and its streams have ended. A grandchild that keeps a stream open past the
    /// program's exit is waited for a moment only.
    Result<void> communicate() {
        using Clock = std::chrono::steady_clock;
        auto deadline = Clock::now() + command_.limit;
        std::string_view input = command_.input;
        bool running = true;
        while (running || output_.is_open() || errors_.is_open()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            if (left.count() <= 0) {
                if (!running) return {};
                return Error(Reason::Timeout,
                             command_.arguments[0] + " did not end within " + format_duration(command_.limit) + " and was killed");
            }
            pollfd watched[] = {{stop_, POLLIN, 0},
                                {running ? exited_.get() : -1, POLLIN, 0},
                                {output_.get(), POLLIN, 0},
                                {errors_.get(), POLLIN, 0},
                                {input_.get(), POLLOUT, 0}};
            const int timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
            if (::poll(watched, std::size(watched), timeout) < 0 && errno != EINTR) return io_error("poll", errno);
            if (watched[0].revents) return cancelled_error();
            if (watched[2].revents) drain(output_, result_.output);
            if (watched[3].revents) drain(errors_, result_.errors);
            if (watched[4].revents) feed(input_, input);
            if (watched[1].revents) {
                running = false;
                deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(200));
            }
        }
        return {};
    }

    Command command_;
    int stop_;
    pid_t pid_ = 0;
    Descriptor input_, output_, errors_, exited_;
    CommandOutput result_;
};

class ProcessOperation final : public Operation<CommandOutput> {
public:
    ProcessOperation(WorkerPool& pool, Command command) : pool_(pool), command_(std::move(command)) {}

private:
    void start() override {
        stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
        if (!stop_.is_open()) return complete(io_error("eventfd", errno));
        pool_.submit([this, &loop = this->loop()] {
            auto result = std::make_shared<Result<CommandOutput>>(Execution(std::move(command_), stop_.get()).run());
            loop.post([this, result] { complete(std::move(*result)); });
        });
    }
    void cancel() override {
        const std::uint64_t one = 1;
        (void)!::write(stop_.get(), &one, sizeof one);
    }

    WorkerPool& pool_;
    Command command_;
    Descriptor stop_;
};

class LinuxProcessRunner final : public ProcessRunner {
public:
    explicit LinuxProcessRunner(WorkerPool& pool) : pool_(pool) {}
    Task<CommandOutput> run(Command command) override {
        CO_TRY_VOID(check_command(command));
        ProcessOperation operation(pool_, std::move(command));
        co_return co_await operation;
    }

private:
    WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner(WorkerPool& pool) { return std::make_unique<LinuxProcessRunner>(pool); }

}  // namespace porthole
