#include "apiserver/future_reads.h"

#include "apiserver/request/options.h"

namespace porthole::apiserver {

std::optional<store::Revision> FutureReads::awaited(const RequestInfo& info) const {
    if (limit_ == 0 || !info.is_resource) return std::nullopt;
    // A watch without initial events begins at any version.
    const bool waits = info.verb == "watch" ? info.flag("sendInitialEvents") : info.verb == "list" || info.verb == "get";
    const std::string_view text = waits ? info.parameter("resourceVersion") : std::string_view();
    if (text.empty()) return std::nullopt;
    const auto version = parse_resource_version(text);
    if (!version || store::Revision(*version) <= objects_.store().revision()) return std::nullopt;
    return store::Revision(*version);
}

Task<> FutureReads::wait(std::string user, store::Revision version) {
    CO_TRY(const auto place, places_.hold(user, 1));
    co_return co_await objects_.seen(version);
}

}  // namespace porthole::apiserver
