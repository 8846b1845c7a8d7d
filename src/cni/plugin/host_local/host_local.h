#pragma once
#include <string>

#include "cni/plugin/host_local/file_lock.h"
#include "cni/plugin/plugin.h"
#include "runtime/file_system.h"

namespace porthole::cni {

struct HostLocalOptions {
    std::string data_dir;  ///< unless the configuration says `dataDir`
    bool colons = true;    ///< may stand in file names
};
/// The reference plugin's: /var/lib/cni/networks, on Windows of drive C.
HostLocalOptions default_host_local_options();

/// IPAM from ranges in the configuration, one address from each range set.
///
/// An ADD that comes again for the same container and interface gets the same addresses. A failed ADD leaves no lease.
/// The node's own address is nobody's attachment and survives a GC.
class HostLocal final : public Plugin {
public:
    HostLocal(FileSystem& files, FileLocks& locks, HostLocalOptions options) : files_(files), locks_(locks), options_(std::move(options)) {}

    Task<CniResult> add(CniRequest request) override;
    Task<> remove(CniRequest request) override;
    Task<> check(CniRequest request) override;
    Task<> status(CniRequest request) override;
    Task<> collect(CniRequest request) override;

    /// An address of `range` for the node itself, out of the leases of `network`; the same one each time; one of
    /// another range is given back. Blocks the thread.
    Result<IpAddress> reserve_for_node(const std::string& network, const IpPrefix& range);

private:
    struct Store;
    Result<Store> open(const CniRequest& request);
    Result<CniResult> allocate(const CniRequest& request);

    FileSystem& files_;
    FileLocks& locks_;
    HostLocalOptions options_;
};

}  // namespace porthole::cni
