#include "netlink/nft.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include "netlink/netlink.h"
#include "runtime/sync.h"

namespace porthole::net {

namespace {

std::optional<std::uint32_t> ask_generation(NetlinkSocket& socket) {
    const NetlinkRequest request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, NLM_F_ACK,
                                 nfgenmsg{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = 0});
    std::optional<std::uint32_t> generation;
    socket.exchange(request, [&](std::string_view payload) {
        for_each_attribute(NetlinkMessage<nfgenmsg>(payload).attributes(), [&](const NetlinkAttribute& attribute) {
            if (attribute.type() == NFTA_GEN_ID) generation = ntohl(attribute.number<std::uint32_t>());
        });
    });
    return generation;
}

class NftProgram final : public NftExecutor {
public:
    NftProgram(ProcessRunner& processes, WorkerPool& pool, std::string network_namespace)
        : processes_(processes), pool_(pool), network_namespace_(std::move(network_namespace)) {}

    Task<> run(std::string commands) override {
        CO_TRY(const Semaphore::Permit permit, co_await one_at_a_time_.acquire());
        Command command{.arguments = {"nft", "-f", "-"}, .input = std::move(commands), .network_namespace = network_namespace_};
        CO_TRY(const CommandOutput output, co_await processes_.run(std::move(command)));
        constexpr std::size_t Shown = 1000;  // a bad batch complains about every element
        if (output.exit_code != 0) co_return Error(Reason::Io, "nft: " + output.errors.substr(0, Shown));
        co_return {};
    }
    Task<> change(std::string table, std::vector<NftChange> changes) override {
        if (!network_namespace_.empty()) co_return Error(Reason::Io, "changing a table of another network namespace");
        CO_TRY(const Semaphore::Permit permit, co_await one_at_a_time_.acquire());
        co_return co_await run_blocking<void>(pool_, [this, table = std::move(table), changes = std::move(changes)] {
            return change_nft_table(table_socket_, table, changes);
        });
    }
    Task<NftTable> read(std::string table, std::vector<std::string> sets) override {
        if (!network_namespace_.empty()) co_return Error(Reason::Io, "reading a table of another network namespace");
        CO_TRY(const Semaphore::Permit permit, co_await one_at_a_time_.acquire());
        co_return co_await run_blocking<NftTable>(
            pool_, [this, table = std::move(table), sets = std::move(sets)] { return read_nft_table(table_socket_, table, sets); });
    }
    std::optional<std::uint32_t> generation() override {
        return network_namespace_.empty() ? ask_generation(generation_socket_) : std::nullopt;
    }

private:
    ProcessRunner& processes_;
    WorkerPool& pool_;
    std::string network_namespace_;
    Semaphore one_at_a_time_{1};
    NetlinkSocket generation_socket_{NETLINK_NETFILTER};  // on the loop
    NetlinkSocket table_socket_{NETLINK_NETFILTER};       // for the worker of who holds the permit
};

}  // namespace

std::unique_ptr<NftExecutor> make_nft_executor(ProcessRunner& processes, WorkerPool& pool, std::string network_namespace) {
    return std::make_unique<NftProgram>(processes, pool, std::move(network_namespace));
}

}  // namespace porthole::net
