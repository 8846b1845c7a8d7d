#pragma once
#include <memory>

#include "csi_proxy/host.h"
#include "runtime/processes/process.h"
#include "runtime/sync.h"
#include "schema/value.h"

namespace porthole::csi_proxy {

/// Disks, volumes, shares, services and the iSCSI initiator of a real Windows host by the modules of Windows PowerShell: Windows documents
/// no other interface that creates NTFS, and upstream uses these. A driver's input is passed to scripts only in environment variables
/// (csi_...), never as script text. `processes` outlives it. A command takes a thread of the pool that file operations also need: few run
/// at a time. Errors: NotFound without PowerShell, Io with its message, Unavailable while too many wait.
class StorageCommands final : public Disks, public Volumes, public Shares, public Machine, public Iscsi {
public:
    static constexpr std::size_t MostRunning = 3, MostWaiting = 32;

    /// `require_privacy`: only shares that can be accessed encrypted are mapped.
    StorageCommands(ProcessRunner& processes, bool require_privacy) : processes_(processes), require_privacy_(require_privacy) {}

    Task<std::vector<Disk>> list() override;
    Task<> rescan() override;
    Task<> partition(DiskNumber disk) override;
    Task<std::int64_t> size(DiskNumber disk) override;
    Task<bool> is_online(DiskNumber disk) override;
    Task<> set_online(DiskNumber disk, bool online) override;
    Task<HostUse> use_of(DiskNumber disk) override;

    Task<std::vector<std::string>> list(DiskNumber disk, std::uint32_t partition) override;
    Task<> mount(std::string volume, std::string path) override;
    Task<> unmount(std::string volume, std::string path) override;
    Task<bool> is_formatted(std::string volume) override;
    Task<> format(std::string volume) override;
    Task<> resize(std::string volume, std::int64_t bytes) override;
    Task<Stats> stats(std::string volume) override;
    Task<DiskNumber> disk_of(std::string volume) override;
    Task<std::string> volume_at(std::string path) override;
    Task<> flush(std::string volume) override;
    Task<HostUse> use_of(std::string volume) override;

    Task<> map(std::string remote, std::string user, std::string password) override;
    Task<> unmap(std::string remote) override;

    Task<std::string> serial_number() override;
    Task<Service> service(std::string name) override;
    Task<> start_service(std::string name) override;
    Task<> stop_service(std::string name, bool with_dependents) override;

    Task<> add_portal(Portal portal) override;
    Task<> remove_portal(Portal portal) override;
    Task<std::vector<Portal>> portals() override;
    Task<std::vector<std::string>> discover(Portal portal) override;
    Task<> connect(Portal portal, std::string target, Login login) override;
    Task<> disconnect(Portal portal, std::string target) override;
    Task<std::vector<DiskNumber>> disks_of(Portal portal, std::string target) override;
    Task<> set_mutual_secret(std::string secret) override;

private:
    using Variables = std::map<std::string, std::string>;
    /// The script's output, without surrounding whitespace.
    Task<std::string> run(std::string script, Variables variables = {});
    Task<> change(std::string script, Variables variables);
    Task<HostUse> use(std::string partitions, Variables variables);
    Task<schema::Value> array(std::string script, Variables variables);
    static Variables of_target(Portal portal, std::string target = "");
    Task<std::int64_t> number(std::string script, Variables variables);

    ProcessRunner& processes_;
    bool require_privacy_;
    Semaphore permits_{MostRunning};
    std::size_t asked_ = 0;  ///< commands that run or wait
};

}  // namespace porthole::csi_proxy
