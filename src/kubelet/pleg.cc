#include "kubelet/pleg.h"

#include "base/result.h"
#include "base/time/time.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration RelistPeriod = 1s, RelistLimit = 3min;

}  // namespace

Task<> Pleg::relist() {
    auto found = co_await reader_.list();
    if (is_cancelled(found)) co_return std::move(found).error();
    if (!found) co_return {};  // the node's Ready condition tells
    has_listed_ = true;
    listed_ = loop_.now();
    std::swap(pods_, *found);
    const auto& before = *found;
    for (const auto& [uid, sighting] : pods_)
        if (const auto old = before.find(uid); old == before.end() || !(old->second == sighting)) handlers_.changed(uid);
    for (const auto& [uid, sighting] : before)
        if (!pods_.contains(uid)) handlers_.changed(uid);
    handlers_.listed();
    co_return {};
}

Task<> Pleg::run() {
    for (;;) {
        CO_TRY_VOID(co_await relist());
        CO_TRY_VOID(co_await loop_.sleep(RelistPeriod));
    }
}

bool Pleg::is_running(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found != pods_.end() && found->second.has_running;
}

std::string Pleg::problem() const {
    const Duration ago = loop_.now() - listed_;
    if (ago < RelistLimit) return "";
    return "PLEG is not healthy: pleg was last seen active " + format_duration(std::chrono::floor<std::chrono::seconds>(ago)) +
           " ago; threshold is 3m0s";
}

}  // namespace porthole::kubelet
