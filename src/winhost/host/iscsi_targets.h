#pragma once
#include <optional>
#include <string>
#include <vector>

#include "csi_proxy/host.h"
#include "runtime/event_loop.h"
#include "winhost/host/iscsi_initiator.h"
#include "winhost/host/loop_volumes.h"
#include "winhost/host/turns.h"

namespace porthole::winhost {

/// iSCSI targets for drivers of an emulated host, by the machine's open-iscsi (IscsiInitiator). A host has one session with a target, and
/// no multipath. As on Windows, portals are kept across restarts and sessions are not. The mutual secret is in memory only. One call acts
/// at a time. All references outlive it.
class IscsiTargets final : public csi_proxy::Iscsi {
public:
    static constexpr std::size_t MostPortals = 32, MostTargets = 32, MostWaiting = 16;
    /// What Windows demands of a CHAP secret without IPsec, and open-iscsi of a name.
    static constexpr std::size_t ShortestSecret = 12, LongestSecret = 16, LongestUser = 223;
    struct Services {
        EventLoop& loop;
        FileSystem& files;
        IscsiInitiator& initiator;
        LoopVolumes& volumes;
        std::string folder;  ///< no container can reach it
    };
    explicit IscsiTargets(Services services) : services_(std::move(services)) {}

    Task<> add_portal(Portal portal) override;
    Task<> remove_portal(Portal portal) override;
    Task<std::vector<Portal>> portals() override;
    Task<std::vector<std::string>> discover(Portal portal) override;
    /// Waits until a disk of the target is there, for ten seconds: it may have none. Errors: NotFound for an unknown portal or target,
    /// AlreadyExists, Conflict for too many, BadRequest; those of IscsiInitiator.
    Task<> connect(Portal portal, std::string target, Login login) override;
    /// Success without a session. Error: Conflict while a volume of it is mounted.
    Task<> disconnect(Portal portal, std::string target) override;
    Task<std::vector<csi_proxy::DiskNumber>> disks_of(Portal portal, std::string target) override;
    Task<> set_mutual_secret(std::string secret) override;

private:
    std::string record() const { return join_path(services_.folder, "portals"); }
    std::vector<std::string> known_portals();
    Result<void> remember(const std::vector<std::string>& portals);
    /// The text of a portal that was added. Error: NotFound.
    Result<std::string> known(const Portal& portal);
    std::optional<open_iscsi::Session> find_session(const std::string& target);
    Result<std::optional<open_iscsi::Session>> find_session(const Portal& portal, const std::string& target);
    Result<open_iscsi::IscsiRecords::Values> authentication(const std::string& target, Login login) const;
    Task<> wait_for_disk(std::string target);

    Services services_;
    std::string mutual_secret_;
    Turns turns_{MostWaiting, "too many calls wait for the iSCSI targets of this host"};
};

}  // namespace porthole::winhost
