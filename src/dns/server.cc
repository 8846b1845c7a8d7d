#include "dns/server.h"

#include "base/result.h"
#include "net/acceptor.h"
#include "net/datagram.h"
#include "runtime/asio_loop.h"

namespace porthole::dns {

namespace {

using namespace std::chrono_literals;
using Stream = std::unique_ptr<net::ByteStream>;

constexpr std::size_t MaxWaiting = 1024, MaxConnections = 128;
constexpr Duration IdleLimit = 10s;

Task<> read_exactly(net::ByteStream& stream, std::string& into) {
    std::size_t have = 0;
    while (have < into.size()) {
        CO_TRY(const std::size_t count, co_await stream.read(std::span(into).subspan(have)));
        if (count == 0) co_return Error(Reason::Unavailable, "connection ended");
        have += count;
    }
    co_return {};
}

/// Messages over TCP have their length before them.
Task<std::string> read_message(net::ByteStream& stream) {
    std::string length(2, '\0');
    CO_TRY_VOID(co_await read_exactly(stream, length));
    std::string message(message_id(length), '\0');
    CO_TRY_VOID(co_await read_exactly(stream, message));
    co_return std::move(message);
}

Task<> write_message(net::ByteStream& stream, std::string message) {
    const auto size = static_cast<std::uint16_t>(message.size());
    message.insert(0, {static_cast<char>(size >> 8), static_cast<char>(size)});
    CO_TRY_VOID(co_await stream.write(message));
    co_return {};
}

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
        co_return co_await answer_all(*accepted.stream, address && knows(*address));
    }
    /// Until the client ends or falls silent.
    Task<> answer_all(net::ByteStream& stream, bool known) {
        for (;;) {
            CO_TRY(const std::string message, co_await with_timeout(read_message(stream), IdleLimit, "reading a query"));
            auto answer = answer_now(message, DnsTransport::Tcp, known);
            if (!answer.reply) {
                CO_TRY(answer.reply, co_await resolver.answer_later(*std::move(answer.later), DnsTransport::Tcp));
            }
            if (answer.reply->empty()) co_return {};
            CO_TRY_VOID(co_await with_timeout(write_message(stream, *std::move(answer.reply)), IdleLimit, "writing a reply"));
        }
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
