#include "cmd/service_windows.h"

#include <windows.h>

#include <cstdio>
#include <mutex>
#include <utility>

#include "base/wide_windows.h"

namespace porthole::cmd {
namespace {

constexpr DWORD PendingLimit = 60'000;  // milliseconds that starting or stopping may take before it counts as hung

class Service final : public ServiceReport {
public:
    Service(std::string name, std::function<int(ServiceReport&)> body) : name_(to_wide(name)), body_(std::move(body)) {}

    int run() {
        current = this;
        wchar_t unused[] = L"";  // a service of a process of its own is known by that alone
        const SERVICE_TABLE_ENTRYW table[] = {{unused, service_main}, {nullptr, nullptr}};
        if (StartServiceCtrlDispatcherW(table)) {
            // It returns as soon as the service has said that it is stopped, which its thread does under the lock.
            const std::lock_guard lock(mutex_);
            return exit_code_;
        }
        const DWORD code = GetLastError();
        if (code != ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
            std::fprintf(stderr, "the service manager does not respond: %s\n", system_error_text(code).c_str());
            return 1;
        }
        std::fprintf(stderr, "not started by the service manager: running on the console\n");
        return body_(*this);
    }

    void on_stop(std::function<void()> stop) override {
        bool at_once = false;
        {
            const std::lock_guard lock(mutex_);
            at_once = stopping_;
            if (!at_once) stop_ = std::move(stop);
        }
        if (at_once) stop();
    }

    void started() override {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        report_locked(SERVICE_RUNNING);
        tell_event_log(EVENTLOG_INFORMATION_TYPE, L"The service has started.");
    }

private:
    static void WINAPI service_main(DWORD, LPWSTR*) { current->serve(); }

    static DWORD WINAPI handle(DWORD control, DWORD, void*, void* context) {
        switch (control) {
            case SERVICE_CONTROL_STOP:
            case SERVICE_CONTROL_SHUTDOWN:
                static_cast<Service*>(context)->stop();
                return NO_ERROR;
            case SERVICE_CONTROL_INTERROGATE:
                return NO_ERROR;
            default:
                return ERROR_CALL_NOT_IMPLEMENTED;
        }
    }

    void serve() {
        {
            const std::lock_guard lock(mutex_);
            handle_ = RegisterServiceCtrlHandlerExW(name_.c_str(), handle, this);
            if (!handle_) return;
            report_locked(SERVICE_START_PENDING);
        }
        exit_code_ = body_(*this);
        const std::lock_guard lock(mutex_);
        stop_ = nullptr;
        if (exit_code_ == 0) {
            tell_event_log(EVENTLOG_INFORMATION_TYPE, L"The service has stopped.");
        } else {
            const std::wstring text = L"The service has failed with exit code " + std::to_wstring(exit_code_) + L"; its log says why.";
            tell_event_log(EVENTLOG_ERROR_TYPE, text.c_str());
        }
        report_locked(SERVICE_STOPPED);  // the process may end at once
    }

    /// Best effort: the log file is what counts.
    void tell_event_log(WORD type, const wchar_t* text) const {
        constexpr DWORD PlainText = 1;  // of the message file that the service manager has entered for us
        const HANDLE source = RegisterEventSourceW(nullptr, name_.c_str());
        if (!source) return;
        ReportEventW(source, type, 0, PlainText, nullptr, 1, 0, &text, nullptr);
        DeregisterEventSource(source);
    }

    void stop() {
        std::function<void()> stop;
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            report_locked(SERVICE_STOP_PENDING);
            stop = std::exchange(stop_, nullptr);
        }
        if (stop) stop();
    }

    void report_locked(DWORD state) {
        if (!handle_) return;
        const bool pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
        const bool failed = state == SERVICE_STOPPED && exit_code_ != 0;
        SERVICE_STATUS status{};
        status.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
        status.dwCurrentState = state;
        status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN : 0;
        status.dwWin32ExitCode = failed ? ERROR_SERVICE_SPECIFIC_ERROR : NO_ERROR;
        status.dwServiceSpecificExitCode = failed ? static_cast<DWORD>(exit_code_) : 0;
        status.dwCheckPoint = pending ? ++check_point_ : 0;
        status.dwWaitHint = pending ? PendingLimit : 0;
        SetServiceStatus(handle_, &status);
    }

    // The dispatcher's entry point has no argument of ours; a process is one service only.
    static inline Service* current = nullptr;

    const std::wstring name_;
    const std::function<int(ServiceReport&)> body_;
    int exit_code_ = 0;
    std::mutex mutex_;  // guards all below: the manager's controls come on a thread of their own
    SERVICE_STATUS_HANDLE handle_ = nullptr;
    DWORD check_point_ = 0;
    bool stopping_ = false;
    std::function<void()> stop_;
};

}  // namespace

int run_as_service(const std::string& name, std::function<int(ServiceReport&)> body) {
    // Never freed: threads of the service manager may still be in it while the process ends.
    return (new Service(name, std::move(body)))->run();
}

}  // namespace porthole::cmd
