#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "netlink/conntrack.h"
#include "netlink/netlink.h"
#include "netlink/network_stack.h"

namespace porthole::net {

namespace {

struct Tuple {
    IpAddress source, destination;
    std::uint8_t protocol = 0;
    std::uint16_t source_port = 0, destination_port = 0;
};

struct Connection {
    Tuple original, reply;
    std::string original_attribute;  // as received, to name the entry when deleting it
};

IpAddress ipv4_of(const NetlinkAttribute& attribute) { return IpAddress::v4(ntohl(attribute.number<std::uint32_t>())); }

void read_tuple(const NetlinkAttribute& nested, Tuple& tuple) {
    for_each_attribute(nested.payload(), [&](const NetlinkAttribute& part) {
        for_each_attribute(part.payload(), [&](const NetlinkAttribute& field) {
            if (part.type() == CTA_TUPLE_IP) {
                if (field.type() == CTA_IP_V4_SRC) tuple.source = ipv4_of(field);
                if (field.type() == CTA_IP_V4_DST) tuple.destination = ipv4_of(field);
            } else if (part.type() == CTA_TUPLE_PROTO) {
                if (field.type() == CTA_PROTO_NUM) tuple.protocol = field.number<std::uint8_t>();
                if (field.type() == CTA_PROTO_SRC_PORT) tuple.source_port = ntohs(field.number<std::uint16_t>());
                if (field.type() == CTA_PROTO_DST_PORT) tuple.destination_port = ntohs(field.number<std::uint16_t>());
            }
        });
    });
}

Connection read_connection(std::string_view payload) {
    Connection connection;
    for_each_attribute(NetlinkMessage<nfgenmsg>(payload).attributes(), [&](const NetlinkAttribute& attribute) {
        if (attribute.type() == CTA_TUPLE_ORIG) {
            read_tuple(attribute, connection.original);
            connection.original_attribute = attribute.payload();
        } else if (attribute.type() == CTA_TUPLE_REPLY) {
            read_tuple(attribute, connection.reply);
        }
    });
    return connection;
}

bool matches(const Connection& connection, const ConntrackFilter& filter) {
    const Tuple& original = connection.original;
    if (original.protocol != filter.protocol || original.destination != filter.destination || original.destination_port != filter.port)
        return false;
    return !filter.backend || (connection.reply.source == *filter.backend && connection.reply.source_port == filter.backend_port);
}

NetlinkRequest conntrack_request(std::uint16_t type, std::uint16_t flags) {
    return {static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type), flags,
            nfgenmsg{.nfgen_family = AF_INET, .version = NFNETLINK_V0, .res_id = 0}};
}

Error conntrack_error() { return Error(Reason::Io, std::string("conntrack: ") + std::strerror(errno)); }

Result<std::size_t> forget_matching(const std::vector<ConntrackFilter>& filters) {
    NetlinkSocket socket(NETLINK_NETFILTER);
    std::vector<Connection> connections;
    const auto keep = [&](std::string_view payload) { connections.push_back(read_connection(payload)); };
    if (!socket.exchange(conntrack_request(IPCTNL_MSG_CT_GET, NLM_F_DUMP), keep)) return conntrack_error();

    std::size_t forgotten = 0;
    for (const Connection& connection : connections) {
        const bool wanted = std::ranges::any_of(filters, [&](const auto& filter) { return matches(connection, filter); });
        if (!wanted) continue;
        NetlinkRequest request = conntrack_request(IPCTNL_MSG_CT_DELETE, NLM_F_ACK);
        request.put(CTA_TUPLE_ORIG | NLA_F_NESTED, connection.original_attribute.data(), connection.original_attribute.size());
        if (socket.exchange(std::move(request)))
            ++forgotten;
        else if (errno != ENOENT)
            return conntrack_error();  // ENOENT: it has ended meanwhile
    }
    return forgotten;
}

class KernelConntrack final : public Conntrack {
public:
    explicit KernelConntrack(WorkerPool& pool) : pool_(pool) {}
    Task<std::size_t> forget(std::vector<ConntrackFilter> filters) override {
        return run_blocking<std::size_t>(pool_, [filters = std::move(filters)] { return forget_matching(filters); });
    }
    Result<void> set_tcp_timeout(const std::string& state, std::chrono::seconds timeout) override {
        return stack_->set_setting("net/netfilter/nf_conntrack_tcp_timeout_" + state, std::to_string(timeout.count()));
    }

private:
    WorkerPool& pool_;
    std::unique_ptr<NetworkStack> stack_ = make_network_stack();
};

}  // namespace

std::unique_ptr<Conntrack> make_conntrack(WorkerPool& pool) { return std::make_unique<KernelConntrack>(pool); }

}  // namespace porthole::net
