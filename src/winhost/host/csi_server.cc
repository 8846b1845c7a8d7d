#include "winhost/host/csi_server.h"

#include "base/result.h"
#include "runtime/asio_loop.h"

namespace porthole::winhost {
namespace {

/// The kubelet's directory where nobody chooses another, as the nodes of local clusters do not.
csi_proxy::PathRules kubelet_paths() {
    auto rules = csi_proxy::PathRules::create({"C:\\var\\lib\\kubelet"});
    CHECK(rules.has_value());
    return *std::move(rules);
}

}  // namespace

CsiServer::CsiServer(Services services, Logger log)
    : loop_(services.loop),
      files_(make_csi_files(services.root)),
      shares_({services.programs, services.files, services.pool, services.root, std::move(services.shares_folder)}),
      volumes_({services.pool,
                services.programs,
                services.random,
                std::move(services.disks),
                {services.files, *files_, services.root, std::move(services.volumes_folder), services.users},
                &services.iscsi}),
      targets_({services.loop, services.files, services.iscsi, volumes_, std::move(services.iscsi_folder)}),
      machine_(services.host, std::move(services.serial_number), &services.iscsi),
      proxy_(services.pool, kubelet_paths(),
             csi_proxy::Host{
                 .files = *files_, .disks = &volumes_, .volumes = &volumes_, .shares = &shares_, .machine = &machine_, .iscsi = &targets_}),
      server_(services.loop, proxy_.handler(), {.body_limit = csi_proxy::LargestRequest}, std::move(log)) {}

Result<void> CsiServer::listen(const std::string& unix_socket, std::uint16_t tcp_port, const std::string& token) {
    unix_socket_ = unix_socket;
    TRY(gate_, TokenGate::listen(loop_, tcp_port, token, unix_socket));
    return {};
}

Result<void> CsiServer::serve() { return server_.listen_unix(unix_socket_); }

Task<> CsiServer::close() {
    if (gate_) CO_TRY_VOID(co_await gate_->close());
    co_return co_await server_.close();
}

}  // namespace porthole::winhost
