#include "winhost/template/slow_start.h"

namespace porthole::winhost {

Task<> report_regularly(EventLoop& loop, std::function<void(Duration since)> report) {
    for (const MonotonicTime start = loop.now();;) {
        CO_TRY_VOID(co_await loop.sleep(BetweenReports));
        report(loop.now() - start);
    }
}

}  // namespace porthole::winhost
