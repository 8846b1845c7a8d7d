#pragma once
#include <map>
#include <string>
#include <vector>

#include "store/etcd/sim/etcd_model.h"

namespace porthole::simulation {

/// Looks at each change in etcd when it is made, for what may never be, whatever fails: a pod that is bound a second time, or a Lease of
/// the control plane that goes to another holder before its time. Also makes a number of the whole history, by which two runs are compared.
class Audit {
public:
    /// Observes `etcd`, which with `clock` outlives it.
    Audit(store::etcd::EtcdModel& etcd, const Clock& clock);

    /// One line each.
    const std::vector<std::string>& violations() const { return violations_; }
    std::uint64_t changes() const { return changes_; }
    /// Of all keys that have changed, in order.
    std::uint64_t digest() const { return digest_; }
    void add(std::string violation) { violations_.push_back(std::move(violation)); }

private:
    struct Pod {
        std::string uid, node;
    };
    struct Holder {
        std::string name;
        MonotonicTime end{};  ///< of its Lease, if it does not renew it
    };
    void see(const store::etcd::WatchEvent& event);
    void see_pod(const store::etcd::WatchEvent& event);
    void see_lease(const store::etcd::WatchEvent& event);

    const Clock& clock_;
    std::map<std::string, Pod> pods_;
    std::map<std::string, Holder> holders_;
    std::vector<std::string> violations_;
    std::uint64_t changes_ = 0, digest_ = 1469598103934665603ULL;
};

}  // namespace porthole::simulation
