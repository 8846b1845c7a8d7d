#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "cni/plugin/plugin.h"
#include "runtime/files/file_system.h"

namespace porthole::cni {

/// Held until destroyed, or until the process ends, even if killed.
class FileLock {
public:
    virtual ~FileLock() = default;
};

/// The seam to locks between processes.
class FileLocks {
public:
    virtual ~FileLocks() = default;
    /// Waits until no one else holds the lock; creates the file if needed. Blocks the thread. Error: Io.
    virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

/// The machine's own.
std::unique_ptr<FileLocks> make_file_locks();

/// Options that depend on the system.
struct HostLocalOptions {
    std::string data_dir;  ///< default of `dataDir` in the configuration
    bool colons = true;    ///< are allowed in file names
};
/// The reference plugin's: /var/lib/cni/networks, on Windows of drive C.
HostLocalOptions default_host_local_options();

/// IPAM from ranges in the configuration, one address from each range set.
///
/// A repeated ADD for the same container and interface returns the same addresses. A failed ADD leaves no lease. The node's own address
/// belongs to no attachment and survives a GC. Blocks the thread for its files and their lock; both references must outlive it.
class HostLocal final : public Plugin {
public:
    HostLocal(FileSystem& files, FileLocks& locks, HostLocalOptions options) : files_(files), locks_(locks), options_(std::move(options)) {}

    Task<CniResult> add(CniRequest request) override;
    Task<> remove(CniRequest request) override;
    Task<> check(CniRequest request) override;
    Task<> status(CniRequest request) override;
    Task<> collect(CniRequest request) override;

    /// An address of `range` for the node itself, out of the leases of `network`; the same one each time; one of
    /// another range is released. Blocks the thread. Error: Io; NoAddresses of the CNI when the range is full.
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
