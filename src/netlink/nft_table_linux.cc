#include "netlink/nft_table.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "netlink/netlink.h"

namespace porthole::net {
namespace {

NetlinkRequest dump_request(std::uint16_t type) {
    return {static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type), NLM_F_DUMP,
            nfgenmsg{.nfgen_family = AF_INET, .version = NFNETLINK_V0, .res_id = 0}};
}

Error read_error(const std::string& what) {
    const int code = errno;
    return Error(code == ENOENT ? Reason::NotFound : Reason::Io, "reading " + what + ": " + std::strerror(code));
}

std::string read_verdict(const NetlinkAttribute& verdict) {
    std::int32_t code = 0;
    std::string chain;
    for_each_attribute(verdict.payload(), [&](const NetlinkAttribute& part) {
        if (part.type() == NFTA_VERDICT_CODE) code = static_cast<std::int32_t>(ntohl(part.number<std::uint32_t>()));
        if (part.type() == NFTA_VERDICT_CHAIN) chain = part.text();
    });
    if (code == NFT_GOTO) return "goto " + chain;
    if (code == NFT_JUMP) return "jump " + chain;
    return code == 0 ? "drop" : std::to_string(code);  // NF_DROP
}

NftElement read_element(const NetlinkAttribute& nested) {
    NftElement element;
    for_each_attribute(nested.payload(), [&](const NetlinkAttribute& part) {
        for_each_attribute(part.payload(), [&](const NetlinkAttribute& field) {
            if (field.type() == NFTA_DATA_VALUE) {
                if (part.type() == NFTA_SET_ELEM_KEY) element.key = field.payload();
                if (part.type() == NFTA_SET_ELEM_KEY_END) element.key_end = field.payload();
                if (part.type() == NFTA_SET_ELEM_DATA) element.data = field.payload();
            }
            if (field.type() == NFTA_DATA_VERDICT && part.type() == NFTA_SET_ELEM_DATA) element.verdict = read_verdict(field);
        });
    });
    return element;
}

/// Calls `visit` with two texts of each chain or rule: its table and its chain.
template <class F>
bool for_each_in_chains(NetlinkSocket& socket, std::uint16_t type, std::uint16_t table_attribute, std::uint16_t chain_attribute, F visit) {
    return socket.exchange(dump_request(type), [&](std::string_view payload) {
        std::string table, chain;
        for_each_attribute(NetlinkMessage<nfgenmsg>(payload).attributes(), [&](const NetlinkAttribute& attribute) {
            if (attribute.type() == table_attribute) table = attribute.text();
            if (attribute.type() == chain_attribute) chain = attribute.text();
        });
        visit(table, chain);
    });
}

}  // namespace

void read_nft_elements(std::string_view payload, std::vector<NftElement>& into) {
    for_each_attribute(NetlinkMessage<nfgenmsg>(payload).attributes(), [&](const NetlinkAttribute& list) {
        if (list.type() != NFTA_SET_ELEM_LIST_ELEMENTS) return;
        for_each_attribute(list.payload(), [&](const NetlinkAttribute& element) { into.push_back(read_element(element)); });
    });
}

Result<NftTable> read_nft_table(const std::string& table, const std::vector<std::string>& sets) {
    NftTable found;
    NetlinkSocket socket(NETLINK_NETFILTER);
    const auto add = [&](std::size_t count) {
        return [&, count](const std::string& of, const std::string& chain) {
            if (of == table) found.rules[chain] += count;
        };
    };
    if (!for_each_in_chains(socket, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME, add(0))) return read_error("chains");
    if (!for_each_in_chains(socket, NFT_MSG_GETRULE, NFTA_RULE_TABLE, NFTA_RULE_CHAIN, add(1))) return read_error("rules");
    for (const std::string& set : sets) {
        NetlinkRequest request = dump_request(NFT_MSG_GETSETELEM);
        request.put(NFTA_SET_ELEM_LIST_TABLE, table);
        request.put(NFTA_SET_ELEM_LIST_SET, set);
        std::vector<NftElement>& elements = found.elements[set];
        if (!socket.exchange(std::move(request), [&](std::string_view payload) { read_nft_elements(payload, elements); }))
            return read_error("set " + set);
    }
    return found;
}

}  // namespace porthole::net
