#pragma once
#include <functional>

#include "runtime/event_loop.h"
#include "runtime/scope.h"

namespace porthole::winhost {

/// What Wine may take to make a prefix, or a host to boot: seconds, and in a virtual machine whose instructions are translated many
/// minutes. The limit is against a Wine that hangs only.
constexpr Duration LongestWineStart = std::chrono::minutes(15);
constexpr Duration BetweenReports = std::chrono::seconds(30);

/// Calls `report` with the time since the beginning, every BetweenReports, until it is cancelled.
Task<> report_regularly(EventLoop& loop, std::function<void(Duration since)> report);

/// Runs `work`, and reports regularly until it ends, for those who wait for this program to see that it goes on.
template <class T>
Task<T> with_reports(EventLoop& loop, Task<T> work, std::function<void(Duration since)> report) {
    Scope reports(loop);
    reports.spawn(report_regularly(loop, std::move(report)));
    auto result = co_await std::move(work);
    CO_TRY_VOID(co_await reports.close());
    co_return result;
}

}  // namespace porthole::winhost
