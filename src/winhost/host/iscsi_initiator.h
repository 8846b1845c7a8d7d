#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "open_iscsi/iscsi_admin.h"
#include "open_iscsi/iscsi_records.h"
#include "open_iscsi/iscsi_sessions.h"
#include "open_iscsi/target_list.h"
#include "runtime/files/file_system.h"
#include "winhost/disks/disk_source.h"

namespace porthole::winhost {

/// Opens the block device at `path`. Until the result is destroyed, neither its number nor its name becomes another device's. Error:
/// Conflict if it does not have the number, "8:16".
Result<std::shared_ptr<const void>> hold_block_device(const std::string& path, const std::string& number);

/// One emulated host's part of the machine's open-iscsi: an interface of the host's own, with a Windows host's initiator name. By it, its
/// sessions differ from the machine's and from other hosts', also for an emulation that was started later. Their logical units are disks of
/// the host. All references outlive it.
class IscsiInitiator final : public DiskSource {
public:
    static constexpr std::size_t MostDisks = 128;
    struct Services {
        ProcessRunner& programs;
        FileSystem& files;
        std::string host;          ///< unique on the machine: "windows-1-0123abcd"
        std::string name;          ///< the host's computer name
        std::string machine = "";  ///< put before paths of /dev, /etc, /sys and programs
        /// Where iscsid listens: on a socket of the machine's own network namespace.
        std::string network_namespace = "/proc/1/ns/net";
        std::function<Result<std::shared_ptr<const void>>(const std::string& path, const std::string& number)> hold = hold_block_device;
    };
    explicit IscsiInitiator(Services services);

    const std::string& initiator_name() const { return initiator_name_; }
    /// Error: MethodNotAllowed without iscsiadm.
    Result<void> check() const;
    std::vector<open_iscsi::Session> sessions();
    /// The name of a session's unit among the host's disks.
    static std::string disk_name(const open_iscsi::Session& session, const open_iscsi::LogicalUnit& unit);

    /// What the portal ("10.0.0.9:3260") offers; nothing is stored. Errors of this and the next: MethodNotAllowed if the machine's iscsid
    /// or kernel cannot; Conflict, Io, Timeout.
    Task<std::vector<open_iscsi::ListedTarget>> discover(std::string portal);
    /// `authentication`: keys of a record, without which there is none. Requires: the target's name is plain.
    Task<> log_in(open_iscsi::ListedTarget target, open_iscsi::IscsiRecords::Values authentication);
    /// Requires: none of its units is in use.
    Task<> log_out(open_iscsi::Session session);
    /// Logs out all sessions and removes what the machine's open-iscsi has of this host. Does nothing if it has nothing.
    Task<> end();

    std::vector<AttachedDisk> list() override;
    Task<> rescan() override;

private:
    using Words = std::vector<std::string>;
    std::string program() const;
    Task<CommandOutput> admin(Words where, Words what, std::vector<int> also = {});
    Task<> remove_records(std::string target);
    Task<> ensure_interface();
    Words node_words(const std::string& target, const std::string& portal) const {
        return {"-m", "node", "-T", target, "-p", portal, "-I", interface_};
    }
    std::optional<AttachedDisk> look_at(const open_iscsi::Session& session, const open_iscsi::LogicalUnit& unit);
    std::string problem_of(const open_iscsi::Session& session, const open_iscsi::LogicalUnit& unit);
    std::string attribute(const open_iscsi::LogicalUnit& unit, const std::string& name);

    Services services_;
    std::string interface_, initiator_name_;
    open_iscsi::IscsiRecords records_;
    bool has_interface_ = false;
};

}  // namespace porthole::winhost
