#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/processes/process.h"

namespace porthole::net {

/// The seam to nftables.
class NftExecutor {
public:
    virtual ~NftExecutor() = default;
    /// Runs `commands` as one transaction. Error: Io, with nftables' own words; nothing has changed then.
    virtual Task<> run(std::string commands) = 0;
    /// What a listing command ("list table ip x") shows, as nftables' JSON. Error: as above.
    virtual Task<std::string> list_json(std::string command) = 0;
    /// Changes with every change of any rule by anyone; nullopt if it is not known.
    virtual std::optional<std::uint32_t> generation() = 0;
};

/// By the program `nft` (about 3 ms a call), one call at a time, in the network namespace that this process is in; or in that
/// of the path `network_namespace`, where generation() is not known. `processes` must outlive it.
std::unique_ptr<NftExecutor> make_nft_executor(ProcessRunner& processes, std::string network_namespace = "");

}  // namespace porthole::net
