#include <windows.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "base/time/time.h"
#include "base/wide_windows.h"
#include "runtime/handle_windows.h"
#include "runtime/processes/process.h"
#include "runtime/processes/windows_command_line.h"
#include "runtime/worker_pool.h"

namespace porthole {
namespace {

constexpr std::size_t OutputLimit = 8 << 20;  // bytes kept of each stream; the rest is read and dropped
constexpr DWORD PipeBuffer = 64 << 10;
constexpr UINT KilledCode = 137;  // what a killed program answers, as on Linux

/// One of the child's streams: an end that the child inherits, and ours, which can be waited for (anonymous pipes cannot).
struct Stream {
    Handle ours, childs;
};

Result<Stream> make_stream(bool child_writes) {
    static std::atomic<unsigned> count = 0;
    const std::wstring name = L"\\\\.\\pipe\\porthole-stream-" + std::to_wstring(GetCurrentProcessId()) + L"-" + std::to_wstring(++count);
    const DWORD direction = child_writes ? PIPE_ACCESS_INBOUND : PIPE_ACCESS_OUTBOUND;
    Stream stream;
    stream.ours = Handle(CreateNamedPipeW(name.c_str(), direction | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
                                          PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, PipeBuffer, PipeBuffer, 0, nullptr));
    if (!stream.ours) return windows_error("pipe", GetLastError());
    SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
    const DWORD access = child_writes ? GENERIC_WRITE : GENERIC_READ;
    stream.childs = Handle(CreateFileW(name.c_str(), access, 0, &inherited, OPEN_EXISTING, 0, nullptr));
    if (!stream.childs) return windows_error("pipe", GetLastError());
    return stream;
}

Handle make_event() { return Handle(CreateEventW(nullptr, TRUE, FALSE, nullptr)); }

/// Reads or writes one stream, one overlapped operation at a time; `ready` is signalled when the next step can be taken.
class Transfer {
public:
    Transfer(Handle stream, bool reading) : stream_(std::move(stream)), reading_(reading), ready_(make_event()) {}
    Transfer(const Transfer&) = delete;
    ~Transfer() { close(); }

    bool is_open() const { return static_cast<bool>(stream_); }
    HANDLE ready() const { return ready_.get(); }

    void start_read() { begin(ReadFile(stream_.get(), buffer_.data(), static_cast<DWORD>(buffer_.size()), nullptr, arm())); }
    void start_write(std::string_view& rest) {
        if (rest.empty()) return close();
        begin(WriteFile(stream_.get(), rest.data(), static_cast<DWORD>(std::min<std::size_t>(rest.size(), PipeBuffer)), nullptr, arm()));
    }
    /// What the last operation moved; nullopt once the other side has gone.
    std::optional<std::string_view> finish() {
        DWORD count = 0;
        if (!GetOverlappedResult(stream_.get(), &operation_, &count, FALSE)) {
            if (GetLastError() == ERROR_IO_INCOMPLETE) return std::string_view();
            pending_ = false;
            close();
            return std::nullopt;
        }
        pending_ = false;
        return std::string_view(buffer_.data(), reading_ ? count : 0).substr(0, count);
    }
    DWORD count() const { return static_cast<DWORD>(operation_.InternalHigh); }
    bool pending() const { return pending_; }
    void close() {
        if (!stream_) return;
        if (pending_) {
            CancelIoEx(stream_.get(), &operation_);
            DWORD ignored = 0;
            GetOverlappedResult(stream_.get(), &operation_, &ignored, TRUE);
            pending_ = false;
        }
        stream_.close();
    }

private:
    OVERLAPPED* arm() {
        operation_ = {};
        operation_.hEvent = ready_.get();
        ResetEvent(ready_.get());
        return &operation_;
    }
    void begin(BOOL done) {
        pending_ = done || GetLastError() == ERROR_IO_PENDING;
        if (!pending_) close();
    }

    Handle stream_;
    bool reading_;
    Handle ready_;
    OVERLAPPED operation_{};
    bool pending_ = false;
    std::array<char, PipeBuffer> buffer_;
};

/// As names of variables are compared. Not by CharUpperBuffW, as user32.dll takes Wine as long to load as a short program to run.
std::wstring upper(std::wstring text) {
    const int size = static_cast<int>(text.size());
    LCMapStringEx(LOCALE_NAME_INVARIANT, LCMAP_UPPERCASE, text.c_str(), size, text.data(), size, nullptr, nullptr, 0);
    return text;
}

/// The caller's environment with what is added, as CreateProcess wants it: sorted by upper-case name, each ended by a zero.
std::wstring environment_block(const std::map<std::string, std::string>& added) {
    std::map<std::wstring, std::wstring> entries;
    wchar_t* const own = GetEnvironmentStringsW();
    for (const wchar_t* entry = own; *entry; entry += wcslen(entry) + 1) {
        const std::wstring_view text(entry);
        entries[upper(std::wstring(text.substr(0, text.find(L'=', 1))))] = text;  // "=C:=C:\dir" is a name that starts with '='
    }
    FreeEnvironmentStringsW(own);
    for (const auto& [name, value] : added) entries[upper(to_wide(name))] = to_wide(name + "=" + value);
    std::wstring block;
    for (const auto& [name, entry] : entries) block.append(entry).push_back(L'\0');
    block.push_back(L'\0');
    return block;
}

/// The program's full path: as it is, or by PATH. Never the current folder, which CreateProcess would look into first.
Result<std::wstring> find_program(const std::string& name) {
    const std::wstring wide = to_wide(name);
    const bool by_path = wide.find_first_of(L"\\/:") == wide.npos;
    std::wstring path(32768, L'\0'), folders;
    if (by_path) {
        folders.resize(GetEnvironmentVariableW(L"PATH", nullptr, 0));
        folders.resize(GetEnvironmentVariableW(L"PATH", folders.data(), static_cast<DWORD>(folders.size())));
    }
    const DWORD size =
        SearchPathW(by_path ? folders.c_str() : nullptr, wide.c_str(), L".exe", static_cast<DWORD>(path.size()), path.data(), nullptr);
    if (size == 0 || size > path.size()) return Error(Reason::NotFound, name + ": no such program");
    path.resize(size);
    return path;
}

/// A job that takes all its processes with it when its handle is closed.
Result<Handle> make_job() {
    Handle job(CreateJobObjectW(nullptr, nullptr));
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (!job || !SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits)) {
        return windows_error("job object", GetLastError());
    }
    return job;
}

/// The list of handles that a child inherits: these and no others, whatever other threads start meanwhile.
class InheritList {
public:
    explicit InheritList(std::array<HANDLE, 3> handles) : handles_(handles) {
        SIZE_T size = 0;
        InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
        memory_.resize(size);
        InitializeProcThreadAttributeList(get(), 1, 0, &size);
        UpdateProcThreadAttribute(get(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(), sizeof handles_, nullptr, nullptr);
    }
    InheritList(const InheritList&) = delete;
    ~InheritList() { DeleteProcThreadAttributeList(get()); }
    LPPROC_THREAD_ATTRIBUTE_LIST get() { return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data()); }

private:
    std::array<HANDLE, 3> handles_;
    std::vector<char> memory_;
};

/// One program from start to end, on a worker thread. `stop` is signalled when the waiting task is cancelled.
class Execution {
public:
    Execution(Command command, HANDLE stop) : command_(std::move(command)), stop_(stop) {}

    Result<CommandOutput> run() {
        TRY(Stream input, make_stream(false));
        TRY(Stream output, make_stream(true));
        TRY(Stream errors, make_stream(true));
        TRY(job_, make_job());
        TRY_VOID(spawn({input.childs.get(), output.childs.get(), errors.childs.get()}));
        input.childs.close();
        output.childs.close();
        errors.childs.close();

        Transfer writing(std::move(input.ours), false), reading(std::move(output.ours), true), reading_errors(std::move(errors.ours), true);
        const Result<void> ended = communicate(writing, reading, reading_errors);
        TerminateJobObject(job_.get(), KilledCode);
        if (!ended) return ended.error();
        DWORD code = 0;
        GetExitCodeProcess(process_.get(), &code);
        result_.exit_code = static_cast<int>(code);
        return std::move(result_);
    }

private:
    Result<void> spawn(std::array<HANDLE, 3> streams) {
        TRY(const std::wstring program, find_program(command_.arguments[0]));
        std::wstring line = to_wide(windows_command_line(command_.arguments));
        std::wstring environment = environment_block(command_.environment);
        InheritList inherited(streams);
        STARTUPINFOEXW startup{};
        startup.StartupInfo.cb = sizeof startup;
        startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
        startup.StartupInfo.hStdInput = streams[0];
        startup.StartupInfo.hStdOutput = streams[1];
        startup.StartupInfo.hStdError = streams[2];
        startup.lpAttributeList = inherited.get();
        PROCESS_INFORMATION process{};
        constexpr DWORD Flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT;
        if (!CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, Flags, environment.data(), nullptr, &startup.StartupInfo,
                            &process)) {
            return windows_error("starting " + command_.arguments[0], GetLastError());
        }
        process_ = Handle(process.hProcess);
        const Handle thread(process.hThread);
        if (!AssignProcessToJobObject(job_.get(), process_.get())) {
            const DWORD code = GetLastError();
            TerminateProcess(process_.get(), KilledCode);
            return windows_error("starting " + command_.arguments[0], code);
        }
        ResumeThread(thread.get());
        return {};
    }

    /// Moves bytes until the program has exited and its streams have ended. A grandchild that keeps a stream open past the
    /// program's exit is waited for a moment only.
    Result<void> communicate(Transfer& input, Transfer& output, Transfer& errors) {
        using Clock = std::chrono::steady_clock;
        auto deadline = Clock::now() + command_.limit;
        std::string_view rest = command_.input;
        bool running = true;
        input.start_write(rest);
        output.start_read();
        errors.start_read();
        while (running || output.is_open() || errors.is_open()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            if (left.count() <= 0) {
                if (!running) return {};
                return Error(Reason::Timeout,
                             command_.arguments[0] + " did not end within " + format_duration(command_.limit) + " and was killed");
            }
            HANDLE watched[5] = {stop_};
            DWORD count = 1;
            if (running) watched[count++] = process_.get();
            for (const Transfer* transfer : {&input, &output, &errors}) {
                if (transfer->is_open()) watched[count++] = transfer->ready();
            }
            const auto timeout = static_cast<DWORD>(std::min<std::int64_t>(left.count(), 3'600'000));
            if (WaitForMultipleObjects(count, watched, FALSE, timeout) == WAIT_FAILED) return windows_error("waiting", GetLastError());
            if (is_signalled(stop_)) return cancelled_error();
            feed(input, rest);
            drain(output, result_.output);
            drain(errors, result_.errors);
            if (running && is_signalled(process_.get())) {
                running = false;
                deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(200));
            }
        }
        return {};
    }

    static bool is_signalled(HANDLE handle) { return WaitForSingleObject(handle, 0) == WAIT_OBJECT_0; }

    static void drain(Transfer& stream, std::string& text) {
        while (stream.is_open() && is_signalled(stream.ready())) {
            const std::optional<std::string_view> bytes = stream.finish();
            if (!bytes) return;
            text.append(bytes->substr(0, OutputLimit - std::min(text.size(), OutputLimit)));
            if (!stream.pending()) stream.start_read();
        }
    }

    /// A program that does not read its input is not an error.
    static void feed(Transfer& stream, std::string_view& rest) {
        while (stream.is_open() && is_signalled(stream.ready())) {
            if (!stream.finish()) return;
            if (stream.pending()) return;
            rest.remove_prefix(stream.count());
            stream.start_write(rest);
        }
    }

    Command command_;
    HANDLE stop_;
    Handle job_, process_;
    CommandOutput result_;
};

class ProcessOperation final : public Operation<CommandOutput> {
public:
    ProcessOperation(WorkerPool& pool, Command command) : pool_(pool), command_(std::move(command)) {}

private:
    void start() override {
        stop_ = make_event();
        if (!stop_) return complete(windows_error("event", GetLastError()));
        pool_.submit([this, &loop = this->loop()] {
            auto result = std::make_shared<Result<CommandOutput>>(Execution(std::move(command_), stop_.get()).run());
            loop.post([this, result] { complete(std::move(*result)); });
        });
    }
    void cancel() override { SetEvent(stop_.get()); }

    WorkerPool& pool_;
    Command command_;
    Handle stop_;
};

class WindowsProcessRunner final : public ProcessRunner {
public:
    explicit WindowsProcessRunner(WorkerPool& pool) : pool_(pool) {}
    Task<CommandOutput> run(Command command) override {
        CO_TRY_VOID(check_command(command));
        if (!command.network_namespace.empty()) co_return Error(Reason::BadRequest, "Windows has no network namespaces by path");
        ProcessOperation operation(pool_, std::move(command));
        co_return co_await operation;
    }

private:
    WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner(WorkerPool& pool) { return std::make_unique<WindowsProcessRunner>(pool); }

}  // namespace porthole
