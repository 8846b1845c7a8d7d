#include "netlink/nft.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include "netlink/netlink.h"
#include "runtime/sync.h"

namespace porthole::net {

namespace {

std::optional<std::uint32_t> ask_generation() {
    const NetlinkRequest request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, NLM_F_ACK,
                                 nfgenmsg{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = 0});
    std::optional<std::uint32_t> generation;
    NetlinkSocket(NETLINK_NETFILTER).exchange(request, [&](std::string_view payload) {
        for_each_attribute(NetlinkMessage<nfgenmsg>(payload).attributes(), [&](const NetlinkAttribute& attribute) {
            if (attribute.type() == NFTA_GEN_ID) generation = ntohl(attribute.number<std::uint32_t>());
        });
    });
    return generation;
}

class NftProgram final : public NftExecutor {
public:
    NftProgram(ProcessRunner& processes, std::string network_namespace)
        : processes_(processes), network_namespace_(std::move(network_namespace)) {}

    Task<> run(std::string commands) override {
        CO_TRY_VOID(co_await call({"nft", "-f", "-"}, std::move(commands)));
        co_return {};
    }
    Task<std::string> list_json(std::string command) override { return call({"nft", "-j", std::move(command)}, ""); }
    std::optional<std::uint32_t> generation() override { return network_namespace_.empty() ? ask_generation() : std::nullopt; }

private:
    Task<std::string> call(std::vector<std::string> arguments, std::string input) {
        CO_TRY(const Semaphore::Permit permit, co_await one_at_a_time_.acquire());
        Command command{.arguments = std::move(arguments), .input = std::move(input), .network_namespace = network_namespace_};
        CO_TRY(CommandOutput output, co_await processes_.run(std::move(command)));
        if (output.exit_code != 0) {
            constexpr std::size_t Shown = 1000;  // a bad batch complains about every element
            co_return Error(Reason::Io, "nft: " + output.errors.substr(0, Shown));
        }
        co_return std::move(output.output);
    }

    ProcessRunner& processes_;
    std::string network_namespace_;
    Semaphore one_at_a_time_{1};
};

}  // namespace

std::unique_ptr<NftExecutor> make_nft_executor(ProcessRunner& processes, std::string network_namespace) {
    return std::make_unique<NftProgram>(processes, std::move(network_namespace));
}

}  // namespace porthole::net
