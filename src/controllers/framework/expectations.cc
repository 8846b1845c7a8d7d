#include "controllers/framework/expectations.h"

namespace porthole::controllers {
namespace {

constexpr Duration LongestWait = std::chrono::minutes(5);

}  // namespace

void Expectations::expect_creations(const Key& owner, int count) {
    Pending& pending = pending_[owner];
    pending.creations += count;
    pending.since = loop_.now();
}

void Expectations::expect_deletion(const Key& owner, const std::string& uid) {
    Pending& pending = pending_[owner];
    pending.deletions.insert(uid);
    pending.since = loop_.now();
}

void Expectations::creation_observed(const Key& owner) {
    const auto found = pending_.find(owner);
    if (found != pending_.end() && found->second.creations > 0) --found->second.creations;
}

void Expectations::deletion_observed(const Key& owner, const std::string& uid) {
    const auto found = pending_.find(owner);
    if (found != pending_.end()) found->second.deletions.erase(uid);
}

bool Expectations::satisfied(const Key& owner) {
    const auto found = pending_.find(owner);
    if (found == pending_.end()) return true;
    const Pending& pending = found->second;
    const bool seen = pending.creations <= 0 && pending.deletions.empty();
    if (!seen && loop_.now() - pending.since < LongestWait) return false;
    pending_.erase(found);
    return true;
}

}  // namespace porthole::controllers
