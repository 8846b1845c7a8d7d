#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "store/record.h"

namespace porthole::store {

/// The reserved key under which a lease is recorded.
std::string lease_key(LeaseId lease);
inline constexpr std::string_view LeasePrefix = "/porthole/leases/";

/// The leases, their deadlines, and the keys that expire with them. Fed with every committed event: a lease is itself a record under
/// LeasePrefix, whose value is its time to live in nanoseconds. A lease without a record is due as long as keys name it. Deletes nothing
/// itself: the store queries due leases. Lives on the store's loop; `clock` must outlive it.
class LeaseTable {
public:
    explicit LeaseTable(const Clock& clock) : clock_(clock) {}

    void apply(const Event& event);
    /// An identifier that was never used before.
    LeaseId next_id() { return LeaseId(++last_id_); }
    bool contains(LeaseId lease) const { return leases_.contains(lease); }
    /// Restarts its time to live. False if there is no such lease or its record was deleted.
    bool keep_alive(LeaseId lease);
    /// Makes an expired lease due again later, after its removal failed.
    void postpone(LeaseId lease, Duration delay);
    /// When the first lease expires; MonotonicTime::max() if there is none.
    MonotonicTime next_deadline() const;
    /// Leases whose deadline has passed, earliest first.
    std::vector<LeaseId> due() const;
    /// At most `limit` of the keys that name the lease.
    std::vector<std::string> keys(LeaseId lease, std::size_t limit) const;

private:
    struct Lease {
        Duration ttl{};
        MonotonicTime deadline;
        std::set<std::string> keys;
        bool granted = true;  ///< false: its record was deleted, but keys still name it
    };
    void set_deadline(LeaseId id, Lease& lease, MonotonicTime deadline);
    void apply_to_lease(LeaseId id, const Event& event);
    void attach(const Record& record);
    void detach(const Record& record);
    void erase(std::map<LeaseId, Lease>::iterator lease);

    const Clock& clock_;
    std::map<LeaseId, Lease> leases_;
    std::set<std::pair<MonotonicTime, LeaseId>> deadlines_;
    std::uint64_t last_id_ = 0;
};

}  // namespace porthole::store
