#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/stored_form.h"
#include "store/shared_store.h"

namespace porthole::store::etcd {

/// How a store uses its etcd, and how much of its history it keeps in memory.
struct EtcdStoreOptions {
    std::string prefix = "/registry";                  ///< of all keys; without a trailing slash
    Store::Options history;                            ///< the part kept in memory; its quota is not used
    Duration compact_every = std::chrono::minutes(5);  ///< older revisions are compacted in etcd; zero: another program does that
    std::size_t largest_revision = 256 << 20;          ///< bytes of the events of one revision: a Txn has at most some megabytes
};

/// The state below a prefix of an etcd, which other servers may read and write at the same time. Revisions are etcd's. A write is one Txn.
/// It is acknowledged once the watch has delivered its revision, so that readers see it. Leases are etcd's own, in whole seconds. The
/// result is a SharedStore.
///
/// Loads everything. `form` is also used from worker threads. Errors: ServiceUnavailable if no member answers, with each one's reason;
/// those of Client.
Task<std::unique_ptr<Store>> open_etcd_store(Store::Seams seams, std::vector<Member> members, std::shared_ptr<StoredForm> form,
                                             AttributesOf attributes_of, EtcdStoreOptions options);

}  // namespace porthole::store::etcd
