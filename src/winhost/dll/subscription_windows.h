#pragma once  // private to this folder
#include <memory>

#include "winhost/dll/host_connection_windows.h"

namespace porthole::winhost {

using NotificationCallback = void(CALLBACK*)(DWORD type, void* context, HRESULT status, PCWSTR data);

/// A thread that calls back for every notification of the service, the last of which is its end.
class Subscription {
public:
    static Result<std::unique_ptr<Subscription>> start(NotificationCallback callback, void* context);
    /// Waits for a callback in progress, except within that callback itself.
    ~Subscription();

private:
    Subscription(HostConnection connection, NotificationCallback callback, void* context)
        : connection_(std::move(connection)), callback_(callback), context_(context) {}
    static DWORD WINAPI run(void* self);
    void listen();

    HostConnection connection_;
    NotificationCallback callback_;
    void* context_;
    HANDLE thread_ = nullptr;
    DWORD thread_id_ = 0;
};

}  // namespace porthole::winhost
