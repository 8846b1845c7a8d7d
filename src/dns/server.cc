#include "dns/server.h"

#include "base/result.h"
#include "dns/stream_messages.h"
#include "net/acceptor.h"
#include "net/datagram.h"
#include "runtime/asio_loop.h"

namespace porthole::dns {

namespace {

using Stream = std::unique_ptr<net::ByteStream>;

constexpr std::size_t MaxWaiting = 1024, MaxConnections = 128;

class SocketUpstream final : public Upstream {
public:
    explicit SocketUpstream(AsioLoop& loop) : loop_(loop) {}

    Task<std::string> exchange(IpAddress server, std::string query, bool tcp) override {
        return tcp ? by_tcp(server, std::move(query)) : by_udp(server, std::move(query));
    }

private:
    /// A socket of its own for each query: its random port is half of what keeps forged replies out.
    Task<std::string> by_udp(IpAddress server, std::string query) {
        CO_TRY(const auto socket, net::DatagramSocket::connect(loop_, server, 53));
        CO_TRY_VOID(socket->send(query));
        for (;;) {
            CO_TRY(net::Datagram reply, co_await socket->receive());
            if (reply.bytes.size() >= 12 && message_id(reply.bytes) == message_id(query)) co_return std::move(reply.bytes);
        }
    }
    Task<std::string> by_tcp(IpAddress server, std::string query) {
        CO_TRY(const Stream stream, co_await net::connect_socket(loop_, {.host = server.to_string(), .port = 53}));
        CO_TRY_VOID(co_await write_message(*stream, std::move(query)));
        co_return co_await read_message(*stream);
    }
    AsioLoop& loop_;
};

}  // namespace

std::unique_ptr<Upstream> make_socket_upstream(AsioLoop& loop) { return std::make_unique<SocketUpstream>(loop); }

struct DnsServer::Impl {
    Impl(AsioLoop& loop, Resolver& resolver, std::function<bool(const IpAddress&)> knows, Logger log)
        : loop(loop),
          resolver(resolver),
          knows(std::move(knows)),
          waiting(loop),
          listening(loop),
          tcp(loop, MaxConnections, [this](net::Accepted accepted) { return serve_connection(std::move(accepted)); }, std::move(log)) {}

    Resolver::Immediate answer_now(std::string_view message, DnsTransport transport, bool known) const {
        return known ? resolver.answer_now(message, transport) : Resolver::Immediate{.reply = refuse(message)};
    }

    Task<> serve_udp(net::DatagramSocket& socket) {
        std::vector<net::DatagramReply> replies;
        for (;;) {
            // A burst is answered in one turn of the loop, some 200 us, but others get theirs.
            const auto received = co_await socket.receive_batch();
            if (!received) {
                // Unavailable: a client has gone before its reply came.
                if (is_cancelled(received)) co_return received.error();
                continue;
            }
            replies.clear();
            for (const net::DatagramView& datagram : *received) answer(socket, datagram, replies);
            if (!replies.empty()) socket.send_batch(replies);
        }
    }
    void answer(net::DatagramSocket& socket, const net::DatagramView& received, std::vector<net::DatagramReply>& replies) {
        auto answer = answer_now(received.bytes, DnsTransport::Udp, knows(received.address));
        if (answer.reply) {
            if (!answer.reply->empty()) replies.push_back({*std::move(answer.reply), received.address, received.port});
        } else if (waiting_count < MaxWaiting) {
            waiting.spawn(answer_datagram(socket, *std::move(answer.later), received.address, received.port));
        }
    }
    Task<> answer_datagram(net::DatagramSocket& socket, Query query, IpAddress address, std::uint16_t port) {
        ++waiting_count;
        const auto reply = co_await resolver.answer_later(std::move(query), DnsTransport::Udp);
        --waiting_count;
        if (reply) (void)socket.send_to(*reply, address, port);
        co_return {};
    }

    Task<> serve_connection(net::Accepted accepted) {
        const auto address = IpAddress::parse(accepted.peer.address);
        const bool known = address && knows(*address);
        co_return co_await answer_stream(*accepted.stream,
                                         [this, known](std::string query) { return answer_message(std::move(query), known); });
    }
    Task<std::string> answer_message(std::string message, bool known) {
        auto answer = answer_now(message, DnsTransport::Tcp, known);
        if (!answer.reply) co_return co_await resolver.answer_later(*std::move(answer.later), DnsTransport::Tcp);
        co_return *std::move(answer.reply);
    }
    AsioLoop& loop;
    Resolver& resolver;
    std::function<bool(const IpAddress&)> knows;
    std::vector<std::unique_ptr<net::DatagramSocket>> sockets;
    std::size_t waiting_count = 0;
    Scope waiting, listening;
    net::Acceptor tcp;
};

DnsServer::DnsServer(AsioLoop& loop, Resolver& resolver, std::function<bool(const IpAddress&)> knows, Logger log)
    : impl_(std::make_unique<Impl>(loop, resolver, std::move(knows), std::move(log))) {}
DnsServer::~DnsServer() = default;

Result<std::uint16_t> DnsServer::listen(const IpAddress& address, std::uint16_t port) {
    TRY(auto listener, net::Listener::tcp(impl_->loop, address.to_string(), port));
    TRY(auto socket, net::DatagramSocket::bind(impl_->loop, address, listener->port()));
    const std::uint16_t chosen = listener->port();
    impl_->listening.spawn(impl_->serve_udp(*socket));
    impl_->sockets.push_back(std::move(socket));
    impl_->tcp.add(std::move(listener));
    return chosen;
}

Task<> DnsServer::close() {
    CO_TRY_VOID(co_await impl_->listening.close());
    CO_TRY_VOID(co_await impl_->tcp.close());
    CO_TRY_VOID(co_await impl_->waiting.close());
    co_return {};
}

}  // namespace porthole::dns
