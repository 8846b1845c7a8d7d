#include "winhost/dll/subscription_windows.h"

#include "base/wide_windows.h"
#include "hns/documents.h"
#include "hns/hresult.h"

namespace porthole::winhost {

Result<std::unique_ptr<Subscription>> Subscription::start(NotificationCallback callback, void* context) {
    TRY(auto connection, HostConnection::open());
    TRY_VOID(connection.send(hns::wire::write_request({.call = "Subscribe"})));
    connection.wait_forever();
    std::unique_ptr<Subscription> subscription(new Subscription(std::move(connection), callback, context));
    subscription->thread_ = CreateThread(nullptr, 0, &Subscription::run, subscription.get(), 0, &subscription->thread_id_);
    if (!subscription->thread_) return hns::hresult_error(hns::Hresult::Unexpected, "No thread for notifications.");
    return subscription;
}

Subscription::~Subscription() {
    connection_.shut_down();
    if (!thread_) return;
    if (GetCurrentThreadId() != thread_id_) WaitForSingleObject(thread_, INFINITE);
    CloseHandle(thread_);
}

DWORD WINAPI Subscription::run(void* self) {
    static_cast<Subscription*>(self)->listen();
    return 0;
}

void Subscription::listen() {
    // Copies: a callback may end this object.
    const NotificationCallback callback = callback_;
    void* const context = context_;
    while (true) {
        const auto json = connection_.receive();
        const auto notification = json ? hns::wire::parse_notification(*json) : Result<hns::Notification>(Error(json.error()));
        const bool over = !notification || notification->type == hns::NotificationType::ServiceDisconnect;
        if (over) return callback(hns::NotificationType::ServiceDisconnect, context, S_OK, L"");
        callback(notification->type, context, S_OK, to_wide(notification->data).c_str());
    }
}

}  // namespace porthole::winhost
