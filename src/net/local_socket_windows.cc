// clang-format off: winsock2.h, which Asio reads, has to come before windows.h
#include "net/asio_socket.h"
#include "net/socket.h"
#include "net/unix_socket.h"

#include <boost/asio/windows/overlapped_ptr.hpp>
#include <boost/asio/windows/stream_handle.hpp>
#include <sddl.h>
// clang-format on

#include <algorithm>

#include "base/wide_windows.h"

namespace porthole::net {
namespace {

using Pipe = asio::windows::stream_handle;
using PipePointer = std::shared_ptr<Pipe>;

/// `\\.\pipe\name`, also with slashes; anything else is a Unix socket's path.
bool is_pipe(std::string_view path) {
    const auto separator = [&](std::size_t at) { return path[at] == '\\' || path[at] == '/'; };
    return path.size() > 9 && separator(0) && separator(1) && path[2] == '.' && separator(3);
}

std::string with_backslashes(std::string path) {
    std::ranges::replace(path, '/', '\\');
    return path;
}

constexpr DWORD BufferSize = 64 << 10;
constexpr Duration BusyWait = std::chrono::milliseconds(20);  // between attempts while all instances of a pipe are taken
constexpr int BusyAttempts = 250;

error_code last_error() { return {static_cast<int>(GetLastError()), asio::error::get_system_category()}; }

Error pipe_error(const error_code& error) {
    if (error == asio::error::operation_aborted) return Error(Reason::Unavailable, "connection closed");
    return Error(Reason::Unavailable, system_error_text(static_cast<unsigned long>(error.value())));
}

/// What reading says when the other side has closed its end.
bool is_end(const error_code& error) {
    return error == asio::error::eof || error.value() == ERROR_BROKEN_PIPE || error.value() == ERROR_PIPE_NOT_CONNECTED;
}

class ReadPipe final : public SocketOperation<std::size_t> {
public:
    ReadPipe(PipePointer pipe, std::span<char> buffer) : pipe_(std::move(pipe)), buffer_(buffer) {}

private:
    void start() override {
        pipe_->async_read_some(asio::buffer(buffer_.data(), buffer_.size()),
                               bound([this](const error_code& error, std::size_t count) { done(error, count); }));
    }
    void done(const error_code& error, std::size_t count) {
        if (is_end(error)) return complete(0);
        if (error) return complete(error == asio::error::operation_aborted ? failure(error) : pipe_error(error));
        complete(count);
    }
    PipePointer pipe_;
    std::span<char> buffer_;
};

class WritePipe final : public SocketOperation<void> {
public:
    WritePipe(PipePointer pipe, std::string_view bytes) : pipe_(std::move(pipe)), bytes_(bytes) {}

private:
    void start() override {
        if (bytes_.empty()) return complete({});
        pipe_->async_write_some(asio::buffer(bytes_), bound([this](const error_code& error, std::size_t count) {
                                    if (error)
                                        return complete(error == asio::error::operation_aborted ? failure(error) : pipe_error(error));
                                    bytes_.remove_prefix(count);
                                    start();
                                }));
    }
    PipePointer pipe_;
    std::string_view bytes_;
};

Task<std::size_t> read_pipe(PipePointer pipe, std::span<char> buffer) {
    ReadPipe operation(std::move(pipe), buffer);
    co_return co_await operation;
}

Task<> write_pipe(PipePointer pipe, std::string_view bytes) {
    WritePipe operation(std::move(pipe), bytes);
    co_return co_await operation;
}

class PipeStream final : public ByteStream {
public:
    explicit PipeStream(PipePointer pipe) : pipe_(std::move(pipe)) {}
    ~PipeStream() override { close(); }

    Task<std::size_t> read(std::span<char> buffer) override { return read_pipe(pipe_, buffer); }
    Task<> write(std::string_view bytes) override { return write_pipe(pipe_, bytes); }
    /// A pipe has no end of one direction: the protocols above say in their own words that they are done.
    Task<> end_writing() override { co_return {}; }
    void close() override {
        error_code ignored;
        pipe_->close(ignored);
    }

private:
    PipePointer pipe_;
};

/// The system, administrators and the user who makes the pipe.
struct PrivateToOwner {
    PrivateToOwner() {
        constexpr wchar_t Rules[] = L"D:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;GA;;;OW)";
        ConvertStringSecurityDescriptorToSecurityDescriptorW(Rules, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, nullptr);
    }
    PrivateToOwner(const PrivateToOwner&) = delete;
    ~PrivateToOwner() { LocalFree(attributes.lpSecurityDescriptor); }
    SECURITY_ATTRIBUTES attributes{sizeof(SECURITY_ATTRIBUTES), nullptr, FALSE};
};

HANDLE make_instance(const std::wstring& path, bool first) {
    PrivateToOwner rules;
    return CreateNamedPipeW(path.c_str(), PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
                            PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, PIPE_UNLIMITED_INSTANCES, BufferSize,
                            BufferSize, 0, &rules.attributes);
}

/// Waits until a client has opened this instance.
class Connected final : public Operation<void> {
public:
    explicit Connected(PipePointer pipe) : pipe_(std::move(pipe)) {}

private:
    void start() override {
        asio::windows::overlapped_ptr overlapped(pipe_->get_executor(), [this](const error_code& error, std::size_t) { done(error); });
        const BOOL finished = ConnectNamedPipe(pipe_->native_handle(), overlapped.get());
        const DWORD code = finished ? ERROR_SUCCESS : GetLastError();
        if (code == ERROR_IO_PENDING) {
            overlapped.release();
        } else {
            const DWORD outcome = code == ERROR_PIPE_CONNECTED ? ERROR_SUCCESS : code;
            overlapped.complete({static_cast<int>(outcome), asio::error::get_system_category()}, 0);
        }
    }
    void cancel() override {
        cancelled_ = true;
        CancelIoEx(pipe_->native_handle(), nullptr);
    }
    void done(const error_code& error) {
        if (!error) return complete({});
        if (cancelled_) return complete(cancelled_error());
        complete(Error(error == asio::error::operation_aborted ? Reason::Unavailable : Reason::Io,
                       "accept: " + system_error_text(static_cast<unsigned long>(error.value()))));
    }
    PipePointer pipe_;
    bool cancelled_ = false;
};

/// Always has one instance that waits, so that a client finds the pipe between two calls of accept().
class PipeListener final : public Listener {
public:
    PipeListener(AsioLoop& loop, std::wstring path) : loop_(loop), path_(std::move(path)) {}
    ~PipeListener() override { close_waiting(); }

    Result<void> open(bool first) {
        const HANDLE handle = make_instance(path_, first);
        if (handle == INVALID_HANDLE_VALUE) {
            const DWORD code = GetLastError();
            // A pipe of this name that is there, and is another's, answers the first instance with "access denied".
            const bool taken = first && (code == ERROR_ACCESS_DENIED || code == ERROR_PIPE_BUSY);
            return Error(taken ? Reason::AlreadyExists : Reason::Io, "listen on " + to_utf8(path_) + ": " + system_error_text(code));
        }
        waiting_ = std::make_shared<Pipe>(loop_.context(), handle);
        return {};
    }
    std::uint16_t port() const override { return 0; }
    Task<Accepted> accept() override {
        if (!waiting_) CO_TRY_VOID(open(false));
        Connected operation(waiting_);
        CO_TRY_VOID(co_await operation);
        auto stream = std::make_unique<PipeStream>(std::exchange(waiting_, nullptr));
        const Result<void> next = open(false);  // a failure is the next call's to report
        (void)next;
        co_return Accepted{std::move(stream), {}};
    }

private:
    void close_waiting() {
        if (!waiting_) return;
        error_code ignored;
        waiting_->close(ignored);
    }
    AsioLoop& loop_;
    std::wstring path_;
    PipePointer waiting_;
};

}  // namespace

void restrict_to_owner(std::intptr_t) {}

/// A file with a mark of its own; an empty one where the system does not show it.
bool has_socket_file(const std::string& path) {
    WIN32_FILE_ATTRIBUTE_DATA found;
    if (!GetFileAttributesExW(to_wide(path).c_str(), GetFileExInfoStandard, &found)) return false;
    if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) return false;
    return found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT || (found.nFileSizeHigh == 0 && found.nFileSizeLow == 0);
}

void remove_socket_file(const std::string& path) { DeleteFileW(to_wide(path).c_str()); }

Result<std::unique_ptr<Listener>> Listener::local(AsioLoop& loop, const std::string& path) {
    if (!is_pipe(path)) return listen_unix(loop, with_backslashes(path));
    auto listener = std::make_unique<PipeListener>(loop, to_wide(path));
    TRY_VOID(listener->open(true));
    return listener;
}

Task<std::unique_ptr<ByteStream>> connect_local(AsioLoop& loop, std::string path) {
    if (!is_pipe(path)) co_return co_await connect_unix(loop, with_backslashes(std::move(path)));
    const std::wstring wide = to_wide(path);
    for (int attempt = 0; attempt < BusyAttempts; ++attempt) {
        const HANDLE handle = CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_EXISTING,
                                          FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr);
        if (handle != INVALID_HANDLE_VALUE) co_return std::make_unique<PipeStream>(std::make_shared<Pipe>(loop.context(), handle));
        const error_code error = last_error();
        if (error.value() == ERROR_FILE_NOT_FOUND) co_return Error(Reason::Unavailable, "no such pipe");
        if (error.value() != ERROR_PIPE_BUSY) co_return pipe_error(error);
        CO_TRY_VOID(co_await loop.sleep(BusyWait));
    }
    co_return Error(Reason::Unavailable, "all instances of the pipe are busy");
}

}  // namespace porthole::net
