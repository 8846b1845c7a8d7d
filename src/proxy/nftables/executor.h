#pragma once
#include <memory>
#include <string>

#include "runtime/worker_pool.h"

namespace porthole::proxy {

/// The seam to nftables.
class NftExecutor {
public:
    virtual ~NftExecutor() = default;
    /// Runs `commands` as one transaction and yields what they print. Error: Io, with nftables' own words; nothing has changed then.
    virtual Task<std::string> run(std::string commands) = 0;
    /// The same with JSON output.
    virtual Task<std::string> list_json(std::string command) = 0;
};

/// nftables of the network namespace that this process lives in. Calls run in `pool`, one at a time.
std::unique_ptr<NftExecutor> make_libnft_executor(WorkerPool& pool);

}  // namespace porthole::proxy
