#pragma once
#include <memory>
#include <string>

#include "csi_proxy/csi_proxy.h"
#include "net/http/http_server.h"
#include "winhost/cri/token_gate.h"
#include "winhost/host/csi_files.h"
#include "winhost/host/host_machine.h"
#include "winhost/host/iscsi_targets.h"
#include "winhost/host/loop_volumes.h"
#include "winhost/host/smb_shares.h"

namespace porthole::winhost {

/// The CSI proxy of an emulated host, in place of csi-proxy.exe: drivers in its containers create directories and links with it. It mounts
/// SMB shares and logs in to iSCSI targets if the machine can, and mounts the volumes of disks that are attached to the host. close() it
/// before destroying it; all references outlive it.
class CsiServer {
public:
    struct Services {
        AsioLoop& loop;
        WorkerPool& pool;
        ProcessRunner& programs;
        FileSystem& files;
        Random& random;
        HostPrograms& host;  ///< programs on the host
        IscsiInitiator& iscsi;
        ContainerUsers users;
        std::string serial_number;   ///< of the machine that is played
        std::string root;            ///< the host's root file system
        std::string shares_folder;   ///< SmbShares' own folder
        std::string volumes_folder;  ///< VolumeMounts' own folder
        std::string disks;           ///< the directory of attached disks
        std::string iscsi_folder;    ///< IscsiTargets' own folder
    };
    CsiServer(Services services, Logger log);

    /// Takes the loopback port that the host's pipes lead to; 0 picks a free one. Its connections are dropped until serve().
    /// `unix_socket` is only for this gate.
    Result<void> listen(const std::string& unix_socket, std::uint16_t tcp_port, const std::string& token);
    /// From now on calls are answered. Requires: the host's root file system is mounted, or volumes and shares would be below it.
    Result<void> serve();
    std::uint16_t tcp_port() const { return gate_->port(); }
    Task<> close();

private:
    AsioLoop& loop_;
    std::unique_ptr<CsiFiles> files_;
    SmbShares shares_;
    LoopVolumes volumes_;
    IscsiTargets targets_;
    HostMachine machine_;
    csi_proxy::CsiProxy proxy_;
    net::HttpServer server_;
    std::string unix_socket_;
    std::unique_ptr<TokenGate> gate_;
};

}  // namespace porthole::winhost
