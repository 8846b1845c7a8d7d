#pragma once  // private to this folder
#include <functional>
#include <map>

#include "runtime/event_loop.h"

namespace porthole::store::etcd {

/// The leases of an etcd. Lives on the loop; close it before that ends.
class EtcdLeases {
public:
    /// `ended` is told each lease that is not there any more.
    EtcdLeases(EventLoop& loop, std::function<void(std::int64_t id)> ended) : loop_(loop), ended_(std::move(ended)) {}
    void close();

    std::int64_t grant(std::chrono::seconds time);
    void end(std::int64_t id);
    void end_all();
    /// False when there is no such lease.
    bool keep_alive(std::int64_t id);
    bool contains(std::int64_t id) const { return leases_.contains(id); }
    std::size_t size() const { return leases_.size(); }
    /// 0 when there is no such lease.
    std::chrono::seconds granted(std::int64_t id) const;
    std::chrono::seconds left(std::int64_t id) const;

private:
    struct Lease {
        std::chrono::seconds time;
        MonotonicTime end;
        TimerId timer{};
    };
    void start(std::int64_t id, Lease& lease);

    EventLoop& loop_;
    const std::function<void(std::int64_t id)> ended_;
    std::map<std::int64_t, Lease> leases_;
    std::int64_t last_ = 1000;
};

}  // namespace porthole::store::etcd
