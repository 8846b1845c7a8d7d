#pragma once
#include <memory>
#include <string>

#include "csi_proxy/csi_proxy.h"
#include "net/http/http_server.h"
#include "winhost/cri/token_gate.h"
#include "winhost/host/smb_shares.h"

namespace porthole::winhost {

/// The CSI proxy of an emulated host, in place of csi-proxy.exe: drivers in its containers create directories and links with it. It mounts
/// SMB shares if the machine can; for disks and volumes it answers that there are none. close() it before destroying it; all references
/// outlive it.
class CsiServer {
public:
    struct Services {
        AsioLoop& loop;
        WorkerPool& pool;
        ProcessRunner& programs;
        FileSystem& files;
        std::string root;        ///< the host's root file system
        std::string own_folder;  ///< as SmbShares has it
    };
    CsiServer(Services services, Logger log);

    /// `unix_socket` is only for the gate in front of it, which uses the loopback port `tcp_port`; 0 picks a free one.
    Result<void> listen(const std::string& unix_socket, std::uint16_t tcp_port, const std::string& token);
    std::uint16_t tcp_port() const { return gate_->port(); }
    Task<> close();

private:
    AsioLoop& loop_;
    std::unique_ptr<csi_proxy::Files> files_;
    SmbShares shares_;
    csi_proxy::CsiProxy proxy_;
    net::HttpServer server_;
    std::unique_ptr<TokenGate> gate_;
};

}  // namespace porthole::winhost
