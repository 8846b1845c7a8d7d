#include "kubelet/pod/backoff.h"

#include <algorithm>

namespace porthole::kubelet {

Duration Backoff::delay(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? Duration::zero() : found->second.delay;
}

bool Backoff::is_waiting(const std::string& key, MonotonicTime since, MonotonicTime now) const {
    const auto found = entries_.find(key);
    if (found == entries_.end() || now - since > 2 * longest_) return false;
    return now - since < found->second.delay;
}

void Backoff::next(const std::string& key, MonotonicTime now) {
    const auto [found, made] = entries_.emplace(key, Entry{first_, now});
    if (made) return;
    Entry& entry = found->second;
    entry.delay = is_stale(entry, now) ? first_ : std::min(entry.delay * 2, longest_);
    entry.updated = now;
}

void Backoff::forget_prefix(const std::string& prefix) {
    std::erase_if(entries_, [&](const auto& item) { return item.first.starts_with(prefix); });
}

}  // namespace porthole::kubelet
