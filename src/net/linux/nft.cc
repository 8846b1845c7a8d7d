#include "net/linux/nft.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "net/linux/netlink.h"
#include "runtime/sync.h"

namespace porthole::net {

namespace {

int read_generation(const nlmsghdr* message, void* into) {
    for_each_attribute<nfgenmsg>(message, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == NFTA_GEN_ID) {
            *static_cast<std::optional<std::uint32_t>*>(into) = ntohl(mnl_attr_get_u32(attribute));
        }
    });
    return MNL_CB_OK;
}

std::optional<std::uint32_t> ask_generation() {
    char buffer[128];
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN;
    message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    message->nlmsg_seq = 1;
    auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    header->nfgen_family = AF_UNSPEC;
    header->version = NFNETLINK_V0;
    std::optional<std::uint32_t> generation;
    NetlinkSocket(NETLINK_NETFILTER).exchange(message, read_generation, &generation);
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
