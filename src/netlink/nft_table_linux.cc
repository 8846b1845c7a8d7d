#include "netlink/nft_table.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

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

void put_verdict(NetlinkRequest& request, std::string_view verdict) {
    constexpr std::string_view GoTo = "goto ";
    const bool goes = verdict.starts_with(GoTo);
    request.put_nested(NFTA_DATA_VERDICT | NLA_F_NESTED, [&] {
        request.put(NFTA_VERDICT_CODE, htonl(goes ? static_cast<std::uint32_t>(NFT_GOTO) : 0));  // NF_DROP
        if (goes) request.put(NFTA_VERDICT_CHAIN, std::string(verdict.substr(GoTo.size())));
    });
}

void put_value(NetlinkRequest& request, std::uint16_t type, const std::string& value) {
    if (!value.empty()) request.put_nested(type | NLA_F_NESTED, [&] { request.put(NFTA_DATA_VALUE, value.data(), value.size()); });
}

void put_element(NetlinkRequest& request, const NftElement& element) {
    request.put_nested(NFTA_LIST_ELEM | NLA_F_NESTED, [&] {
        put_value(request, NFTA_SET_ELEM_KEY, element.key);
        put_value(request, NFTA_SET_ELEM_KEY_END, element.key_end);
        put_value(request, NFTA_SET_ELEM_DATA, element.data);
        if (!element.verdict.empty()) request.put_nested(NFTA_SET_ELEM_DATA | NLA_F_NESTED, [&] { put_verdict(request, element.verdict); });
    });
}

/// As many messages as the lengths of attributes, of 16 bits, ask for.
void put_elements(std::vector<NetlinkRequest>& batch, std::uint16_t type, const std::string& table, const std::string& set,
                  std::span<const NftElement> elements) {
    constexpr std::size_t InAMessage = 200;
    const bool adds = type == NFT_MSG_NEWSETELEM;
    while (!elements.empty()) {
        const auto part = elements.first(std::min(elements.size(), InAMessage));
        elements = elements.subspan(part.size());
        NetlinkRequest& request = batch.emplace_back(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type),
                                                     static_cast<std::uint16_t>(adds ? NLM_F_CREATE : 0),
                                                     nfgenmsg{.nfgen_family = AF_INET, .version = NFNETLINK_V0, .res_id = 0});
        request.put(NFTA_SET_ELEM_LIST_TABLE, table);
        request.put(NFTA_SET_ELEM_LIST_SET, set);
        request.put_nested(NFTA_SET_ELEM_LIST_ELEMENTS | NLA_F_NESTED, [&] {
            for (const NftElement& element : part) put_element(request, element);
        });
    }
}

NetlinkRequest batch_mark(std::uint16_t type) {
    return {type, 0, nfgenmsg{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)}};
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

Result<NftTable> read_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<std::string>& sets) {
    NftTable found;
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

Result<void> change_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<NftChange>& changes) {
    std::vector<NetlinkRequest> batch;
    batch.push_back(batch_mark(NFNL_MSG_BATCH_BEGIN));
    for (const NftChange& change : changes) put_elements(batch, NFT_MSG_DELSETELEM, table, change.set, change.removed);
    for (const NftChange& change : changes) put_elements(batch, NFT_MSG_NEWSETELEM, table, change.set, change.added);
    if (batch.size() == 1) return {};
    batch.back().acknowledge();
    batch.push_back(batch_mark(NFNL_MSG_BATCH_END));
    if (!socket.exchange_batch(std::move(batch))) return Error(Reason::Io, std::string("changing elements: ") + std::strerror(errno));
    return {};
}

}  // namespace porthole::net
