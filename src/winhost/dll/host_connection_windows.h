#pragma once  // private to this folder
#include <winsock2.h>
// winsock2.h comes before windows.h.
#include <windows.h>

#include <optional>
#include <string>

#include "hns/wire/protocol.h"

namespace porthole::winhost {

/// A blocking socket to the emulator, which has accepted the token. One thread at a time, but for shut_down(). Errors:
/// Hresult::RpcServerUnavailable, RpcCallFailed.
class HostConnection {
public:
    static Result<HostConnection> open();
    HostConnection(HostConnection&& other) noexcept;
    HostConnection& operator=(HostConnection&& other) noexcept;
    ~HostConnection();

    Result<void> send(std::string_view json);
    Result<std::string> receive();
    /// From now on receive() waits without a time limit.
    void wait_forever();
    /// From another thread: a receive() that waits fails.
    void shut_down();

private:
    explicit HostConnection(SOCKET socket) : socket_(socket) {}
    SOCKET socket_;
    hns::wire::FrameReader reader_;
};

/// One call over the process's own connection, which is replaced after a failure. Callable from any thread.
Result<hns::wire::Response> call_host(const hns::wire::Request& request);

/// A copy that the caller frees with CoTaskMemFree; null without memory.
PWSTR give(const std::string& text);
std::string utf8(PCWSTR text);  ///< "" for null

}  // namespace porthole::winhost
