#include "store/etcd/sim/etcd_leases.h"

namespace porthole::store::etcd {

void EtcdLeases::close() {
    for (const auto& [id, lease] : leases_) loop_.cancel_timer(lease.timer);
}

void EtcdLeases::start(std::int64_t id, Lease& lease) {
    lease.end = loop_.now() + lease.time;
    lease.timer = loop_.call_after(lease.time, [this, id] { end(id); });
}

std::int64_t EtcdLeases::grant(std::chrono::seconds time) {
    Lease& lease = leases_[++last_];
    lease.time = time;
    start(last_, lease);
    return last_;
}

void EtcdLeases::end(std::int64_t id) {
    if (const auto lease = leases_.extract(id)) loop_.cancel_timer(lease.mapped().timer);
    ended_(id);
}

void EtcdLeases::end_all() {
    const auto leases = leases_;
    for (const auto& [id, lease] : leases) end(id);
}

bool EtcdLeases::keep_alive(std::int64_t id) {
    const auto found = leases_.find(id);
    if (found == leases_.end()) return false;
    loop_.cancel_timer(found->second.timer);
    start(id, found->second);
    return true;
}

std::chrono::seconds EtcdLeases::granted(std::int64_t id) const {
    const auto found = leases_.find(id);
    return found == leases_.end() ? std::chrono::seconds(0) : found->second.time;
}

std::chrono::seconds EtcdLeases::left(std::int64_t id) const {
    const auto found = leases_.find(id);
    return found == leases_.end() ? std::chrono::seconds(0)
                                  : std::chrono::duration_cast<std::chrono::seconds>(found->second.end - loop_.now());
}

}  // namespace porthole::store::etcd
