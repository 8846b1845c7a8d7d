#include "winhost/cri/token_gate.h"

#include "base/result.h"
#include "net/http/relay.h"
#include "net/tls/crypto.h"
#include "runtime/asio_loop.h"

namespace porthole::winhost {

using namespace std::chrono_literals;

TokenGate::TokenGate(AsioLoop& loop, std::string token, std::string unix_socket)
    : loop_(loop),
      token_(std::move(token)),
      unix_socket_(std::move(unix_socket)),
      acceptor_(
          loop, MostConnections, [this](net::Accepted accepted) { return serve(std::move(accepted)); }, Logger(make_null_sink(), "")) {}

Result<std::unique_ptr<TokenGate>> TokenGate::listen(AsioLoop& loop, std::uint16_t port, std::string token, std::string unix_socket) {
    TRY(auto listener, net::Listener::tcp(loop, "127.0.0.1", port));
    std::unique_ptr<TokenGate> gate(new TokenGate(loop, std::move(token), std::move(unix_socket)));
    gate->port_ = listener->port();
    gate->acceptor_.add(std::move(listener));
    return gate;
}

namespace {

/// Byte by byte, so that nothing of what follows is taken; the line is short.
Task<std::string> read_line(net::ByteStream& stream, std::size_t limit) {
    std::string line;
    char letter = 0;
    while (line.size() <= limit) {
        CO_TRY(const std::size_t count, co_await stream.read({&letter, 1}));
        if (count == 0 || letter == '\n') break;
        line.push_back(letter);
    }
    co_return line;
}

}  // namespace

Task<> TokenGate::serve(net::Accepted accepted) {
    const std::unique_ptr<net::ByteStream> client = std::move(accepted.stream);
    const auto line = co_await with_timeout(read_line(*client, token_.size() + 1), 5s, "the token");
    if (!line || !net::equal_in_constant_time(*line, token_)) {
        client->close();
        co_return {};
    }
    auto server = co_await net::connect_socket(loop_, net::Endpoint{.unix_path = unix_socket_});
    if (!server) {
        client->close();
        co_return {};
    }
    (void)co_await net::relay(loop_, *client, **server);
    co_return {};
}

}  // namespace porthole::winhost
