#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "net/linux/conntrack.h"
#include "net/linux/netlink.h"

namespace porthole::net {

namespace {

struct Tuple {
    IpAddress source, destination;
    std::uint8_t protocol = 0;
    std::uint16_t source_port = 0, destination_port = 0;
};

struct Connection {
    Tuple original, reply;
    std::vector<char> original_attribute;  // as received, to name the entry when deleting it
};

IpAddress address_of(const nlattr* attribute) { return IpAddress::v4(ntohl(mnl_attr_get_u32(attribute))); }

void read_tuple(const nlattr* nested, Tuple& tuple) {
    for_each_nested(nested, [&](const nlattr* part) {
        const std::uint16_t type = mnl_attr_get_type(part);
        for_each_nested(part, [&](const nlattr* field) {
            const std::uint16_t name = mnl_attr_get_type(field);
            if (type == CTA_TUPLE_IP) {
                if (name == CTA_IP_V4_SRC) tuple.source = address_of(field);
                if (name == CTA_IP_V4_DST) tuple.destination = address_of(field);
            } else if (type == CTA_TUPLE_PROTO) {
                if (name == CTA_PROTO_NUM) tuple.protocol = mnl_attr_get_u8(field);
                if (name == CTA_PROTO_SRC_PORT) tuple.source_port = ntohs(mnl_attr_get_u16(field));
                if (name == CTA_PROTO_DST_PORT) tuple.destination_port = ntohs(mnl_attr_get_u16(field));
            }
        });
    });
}

int read_connection(const nlmsghdr* message, void* into) {
    Connection connection;
    for_each_attribute<nfgenmsg>(message, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == CTA_TUPLE_ORIG) {
            read_tuple(attribute, connection.original);
            const char* bytes = static_cast<const char*>(mnl_attr_get_payload(attribute));
            connection.original_attribute.assign(bytes, bytes + mnl_attr_get_payload_len(attribute));
        } else if (mnl_attr_get_type(attribute) == CTA_TUPLE_REPLY) {
            read_tuple(attribute, connection.reply);
        }
    });
    static_cast<std::vector<Connection>*>(into)->push_back(std::move(connection));
    return MNL_CB_OK;
}

bool matches(const Connection& connection, const ConntrackFilter& filter) {
    const Tuple& original = connection.original;
    if (original.protocol != filter.protocol || original.destination != filter.destination || original.destination_port != filter.port)
        return false;
    return !filter.backend || (connection.reply.source == *filter.backend && connection.reply.source_port == filter.backend_port);
}

nlmsghdr* start_message(char* buffer, std::uint16_t type, std::uint16_t flags) {
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
    message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    message->nlmsg_seq = 1;
    auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    header->nfgen_family = AF_INET;
    header->version = NFNETLINK_V0;
    return message;
}

Error failure() { return Error(Reason::Io, std::string("conntrack: ") + std::strerror(errno)); }

Result<std::size_t> forget_matching(const std::vector<ConntrackFilter>& filters) {
    NetlinkSocket socket(NETLINK_NETFILTER);
    char request[1024];
    std::vector<Connection> connections;
    if (!socket.exchange(start_message(request, IPCTNL_MSG_CT_GET, NLM_F_DUMP), read_connection, &connections)) return failure();

    std::size_t forgotten = 0;
    for (const Connection& connection : connections) {
        const bool wanted = std::ranges::any_of(filters, [&](const auto& filter) { return matches(connection, filter); });
        if (!wanted) continue;
        nlmsghdr* message = start_message(request, IPCTNL_MSG_CT_DELETE, NLM_F_ACK);
        mnl_attr_put(message, CTA_TUPLE_ORIG | NLA_F_NESTED, connection.original_attribute.size(), connection.original_attribute.data());
        if (socket.exchange(message))
            ++forgotten;
        else if (errno != ENOENT)
            return failure();  // ENOENT: it has ended meanwhile
    }
    return forgotten;
}

class KernelConntrack final : public Conntrack {
public:
    explicit KernelConntrack(WorkerPool& pool) : pool_(pool) {}
    Task<std::size_t> forget(std::vector<ConntrackFilter> filters) override {
        return run_blocking<std::size_t>(pool_, [filters = std::move(filters)] { return forget_matching(filters); });
    }

private:
    WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<Conntrack> make_conntrack(WorkerPool& pool) { return std::make_unique<KernelConntrack>(pool); }

}  // namespace porthole::net
