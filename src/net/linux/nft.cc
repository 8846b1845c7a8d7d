#include "net/linux/nft.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "runtime/sync.h"

namespace porthole::net {

namespace {

int read_generation(const nlmsghdr* message, void* into) {
    const nlattr* attribute = nullptr;
    mnl_attr_for_each(attribute, message, sizeof(nfgenmsg)) {
        if (mnl_attr_get_type(attribute) == NFTA_GEN_ID) {
            *static_cast<std::optional<std::uint32_t>*>(into) = ntohl(mnl_attr_get_u32(attribute));
        }
    }
    return MNL_CB_OK;
}

std::optional<std::uint32_t> ask_generation() {
    const std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> socket(mnl_socket_open(NETLINK_NETFILTER), mnl_socket_close);
    if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) return std::nullopt;
    char buffer[1024];
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN;
    message->nlmsg_flags = NLM_F_REQUEST;
    message->nlmsg_seq = 1;
    auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    header->nfgen_family = AF_UNSPEC;
    header->version = NFNETLINK_V0;
    if (mnl_socket_sendto(socket.get(), message, message->nlmsg_len) < 0) return std::nullopt;
    const ssize_t count = mnl_socket_recvfrom(socket.get(), buffer, sizeof buffer);
    std::optional<std::uint32_t> generation;
    if (count > 0) mnl_cb_run(buffer, static_cast<std::size_t>(count), 1, mnl_socket_get_portid(socket.get()), read_generation, &generation);
    return generation;
}

class NftProgram final : public NftExecutor {
public:
    NftProgram(ProcessRunner& processes, std::string network_namespace)
        : processes_(processes), network_namespace_(std::move(network_namespace)) {}

    Task<> run(std::string commands) override {
        CO_CHECK(co_await call({"nft", "-f", "-"}, std::move(commands)));
        co_return {};
    }
    Task<std::string> list_json(std::string command) override { return call({"nft", "-j", "-f", "-"}, std::move(command)); }
    std::optional<std::uint32_t> generation() override {
        return network_namespace_.empty() ? ask_generation() : std::nullopt;
    }

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
