#pragma once
#include <memory>
#include <string>
#include <vector>

#include "net/http/http.h"
#include "runtime/task.h"
#include "scheduler/framework/configuration.h"

namespace porthole {
class AsioLoop;
namespace net {
class HttpClient;
}
}  // namespace porthole

namespace porthole::scheduler {

/// The way to one extender. Used on the scheduler's loop.
class ExtenderTransport {
public:
    virtual ~ExtenderTransport() = default;
    /// Posts JSON to `verb` below the extender's URL. Errors: Timeout after the extender's time, for all of the call; RequestEntityTooLarge
    /// beyond `answer_bytes`; Unavailable or Io with the reason; Cancelled. Never one for a status code.
    virtual Task<net::HttpResponse> post(std::string verb, std::string body, std::size_t answer_bytes) = 0;
};

/// Creates those that use sockets. Outlives them; `loop` outlives it. close() it before it is destroyed.
class HttpExtenderTransports {
public:
    explicit HttpExtenderTransports(AsioLoop& loop) : loop_(loop) {}

    std::unique_ptr<ExtenderTransport> open(const ExtenderConfiguration& extender);
    /// Closes the connections. Requires: no call is in progress.
    Task<> close();

private:
    AsioLoop& loop_;
    std::vector<std::shared_ptr<net::HttpClient>> opened_;
};

}  // namespace porthole::scheduler
