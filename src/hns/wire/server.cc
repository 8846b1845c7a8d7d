#include "hns/wire/server.h"

#include "base/result.h"

namespace porthole::hns::wire {

Server::Server(AsioLoop& loop, SessionContext context, Logger log)
    : loop_(loop),
      context_(std::move(context)),
      acceptor_(loop, ConnectionLimit, [this](net::Accepted accepted) { return serve_one(std::move(accepted)); }, std::move(log)) {}

Result<void> Server::listen(const std::string& address, std::uint16_t port) {
    TRY(auto listener, net::Listener::tcp(loop_, address, port));
    port_ = listener->port();
    acceptor_.add(std::move(listener));
    return {};
}

Task<> Server::serve_one(net::Accepted accepted) { return serve(context_, std::move(accepted.stream)); }

}  // namespace porthole::hns::wire
