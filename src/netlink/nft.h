#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netlink/nft_table.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"

namespace porthole::net {

/// The seam to nftables.
class NftExecutor {
public:
    virtual ~NftExecutor() = default;
    /// Runs `commands` as one transaction. Error: Io with nftables' message; nothing has changed then.
    virtual Task<> run(std::string commands) = 0;
    /// As change_nft_table(), which takes a tenth of the time of run().
    virtual Task<> change(std::string table, std::vector<NftChange> changes) = 0;
    /// As read_nft_table(); without sets only chains and rules.
    virtual Task<NftTable> read(std::string table, std::vector<std::string> sets) = 0;
    /// Changes whenever any program changes any rule; nullopt if unknown.
    virtual std::optional<std::uint32_t> generation() = 0;
};

/// Runs the program `nft` (about 3 ms per call), one call at a time, in the network namespace of this process or at the path
/// `network_namespace`; with the latter, generation() is unknown, and change() and read() fail. change() and read() work on `pool`. Both
/// must outlive it.
std::unique_ptr<NftExecutor> make_nft_executor(ProcessRunner& processes, WorkerPool& pool, std::string network_namespace = "");

}  // namespace porthole::net
