#pragma once
#include <functional>
#include <memory>
#include <string>

#include "hns/hns.h"
#include "hns/wire/session.h"
#include "runtime/sync.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::hns::wire {

/// Opens a connection to a server.
using Connect = std::function<Task<std::unique_ptr<net::ByteStream>>()>;
/// By TCP.
Connect connect_tcp(AsioLoop& loop, std::string address, std::uint16_t port);

/// HNS behind a socket. Calls share one connection, which is replaced after a failure; a failed connection is
/// Hresult::RpcServerUnavailable. Each subscription has its own connection.
class WireHns final : public Hns {
public:
    WireHns(Connect connect, std::string token) : connect_(std::move(connect)), token_(std::move(token)) {}

    Task<std::string> enumerate(ObjectKind kind, std::string query) override;
    Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) override;
    Task<std::string> query(ObjectKind kind, std::string id, std::string query) override;
    Task<> modify(ObjectKind kind, std::string id, std::string settings) override;
    Task<> remove(ObjectKind kind, std::string id) override;
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override;
    Task<> subscribe(std::function<void(const Notification&)> listener) override;
    /// Of an emulator: see hns/emulator/faults.h.
    Task<std::string> control(std::string request);

private:
    Task<Response> call(Request request);
    Task<std::string> exchange(FrameStream& frames, std::string json);
    Task<std::unique_ptr<FrameStream>> open();

    Connect connect_;
    std::string token_;
    std::unique_ptr<FrameStream> frames_;
    Semaphore turn_{1};
};

}  // namespace porthole::hns::wire
