#include <nftables/libnftables.h>

#include "proxy/nftables/executor.h"
#include "runtime/sync.h"

namespace porthole::proxy {

namespace {

class LibnftExecutor final : public NftExecutor {
public:
    explicit LibnftExecutor(WorkerPool& pool) : pool_(pool) {}

    Task<std::string> run(std::string commands) override { return call(std::move(commands), false); }
    Task<std::string> list_json(std::string command) override { return call(std::move(command), true); }

private:
    Task<std::string> call(std::string commands, bool json) {
        CO_TRY(const Semaphore::Permit permit, co_await one_at_a_time_.acquire());
        co_return co_await run_blocking<std::string>(pool_, [commands = std::move(commands), json] { return execute(commands, json); });
    }

    /// A context of its own for each call: contexts cache what they saw of the ruleset and are bound to a thread.
    static Result<std::string> execute(const std::string& commands, bool json) {
        const std::unique_ptr<nft_ctx, decltype(&nft_ctx_free)> context(nft_ctx_new(NFT_CTX_DEFAULT), nft_ctx_free);
        if (!context) return Error(Reason::Io, "nftables is not available");
        nft_ctx_buffer_output(context.get());
        nft_ctx_buffer_error(context.get());
        if (json) nft_ctx_output_set_flags(context.get(), NFT_CTX_OUTPUT_JSON | NFT_CTX_OUTPUT_NUMERIC_ALL);
        if (nft_run_cmd_from_buffer(context.get(), commands.c_str()) != 0) {
            constexpr std::size_t Shown = 1000;
            return Error(Reason::Io, "nftables: " + std::string(nft_ctx_get_error_buffer(context.get())).substr(0, Shown));
        }
        return std::string(nft_ctx_get_output_buffer(context.get()));
    }

    WorkerPool& pool_;
    Semaphore one_at_a_time_{1};
};

}  // namespace

std::unique_ptr<NftExecutor> make_libnft_executor(WorkerPool& pool) { return std::make_unique<LibnftExecutor>(pool); }

}  // namespace porthole::proxy
