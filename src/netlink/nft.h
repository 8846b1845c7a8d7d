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
    /// Runs `commands` as one transaction. Error: Io, with nftables' own words; nothing has changed then.
    virtual Task<> run(std::string commands) = 0;
    /// As change_nft_table(), which is a tenth of the work of run().
    virtual Task<> change(std::string table, std::vector<NftChange> changes) = 0;
    /// As read_nft_table(); without sets only chains and rules.
    virtual Task<NftTable> read(std::string table, std::vector<std::string> sets) = 0;
    /// Changes with every change of any rule by anyone; nullopt if it is not known.
    virtual std::optional<std::uint32_t> generation() = 0;
};

/// By the program `nft` (about 3 ms a call), one call at a time, in the network namespace that this process is in; or in that
/// of the path `network_namespace`, where generation() is not known and change() and read() fail. These work on
/// `pool`. Both must outlive it.
std::unique_ptr<NftExecutor> make_nft_executor(ProcessRunner& processes, WorkerPool& pool, std::string network_namespace = "");

}  // namespace porthole::net
