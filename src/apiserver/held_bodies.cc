#include "apiserver/held_bodies.h"

namespace porthole::apiserver {

Result<std::unique_ptr<HeldBodies::Share>> HeldBodies::hold(const std::string& user, std::size_t bytes) {
    if (bytes == 0) return std::unique_ptr<Share>();
    const auto found = by_user_.find(user);
    const std::size_t own = found == by_user_.end() ? 0 : found->second;
    if (held_ + bytes > limit_ || own + bytes > limit_ / 4) {
        Error error(Reason::TooManyRequests, "Too many requests, please try again later.");
        error.details->retry_after_seconds = 1;
        return error;
    }
    held_ += bytes;
    by_user_[user] = own + bytes;
    return std::make_unique<Share>(*this, user, bytes);
}

void HeldBodies::give_back(const std::string& user, std::size_t bytes) {
    held_ -= bytes;
    const auto found = by_user_.find(user);
    found->second -= bytes;
    if (found->second == 0) by_user_.erase(found);
}

}  // namespace porthole::apiserver
