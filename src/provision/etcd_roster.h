#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/tls/x509.h"
#include "provision/etcd_plan.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::provision {

/// The members that an etcd has, and changes of them. Lives on one loop. Errors: Conflict for a member that is not one of ours; otherwise
/// those of store::etcd::Client, such as InternalError where etcd refuses a change.
class EtcdRoster {
public:
    virtual ~EtcdRoster() = default;
    /// All of them, as a majority knows them. Asks each whether it is healthy, for up to three seconds.
    virtual Task<std::vector<EtcdMemberSeen>> members() = 0;
    virtual Task<> add_learner(std::string address) = 0;
    virtual Task<> promote(std::uint64_t id) = 0;
    virtual Task<> remove(std::uint64_t id) = 0;
};

/// A way to the etcd of that authority, through the members at these addresses.
using ConnectEtcd =
    std::function<Result<std::unique_ptr<EtcdRoster>>(const net::CertificateAuthority& authority, std::vector<std::string> addresses)>;

/// Of real members, which are asked at port 2379. `loop` must outlive what it makes.
ConnectEtcd connect_etcd(AsioLoop& loop);

}  // namespace porthole::provision
