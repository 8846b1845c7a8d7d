#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/csiproxy_v1alpha1.h"
#include "base/result.h"
#include "runtime/task.h"

namespace porthole::csi_proxy {

/// The host's files. Paths are Windows' and have passed PathRules. No link below the kubelet's directory is followed: a path through one is
/// Forbidden. Errors also: NotFound, AlreadyExists, Io. Blocking.
class Files {
public:
    virtual ~Files() = default;
    /// Of the path itself: also true for a dangling link.
    virtual Result<bool> exists(const std::string& path) = 0;
    virtual Result<void> create_directories(const std::string& path) = 0;
    /// A link, a file or an empty directory.
    virtual Result<void> remove(const std::string& path) = 0;
    /// With everything below; fine if it is not there. A link below is removed, not followed.
    virtual Result<void> remove_all(const std::string& path) = 0;
    virtual Result<void> remove_contents(const std::string& path) = 0;
    /// `link` leads to `target`, a directory's path.
    virtual Result<void> create_link(const std::string& target, const std::string& link) = 0;
    /// The same for a directory of a share, which must answer. Replaces another link and an empty directory. Error: AlreadyExists if
    /// anything else exists.
    virtual Result<void> link_share(const std::string& remote, const std::string& link) = 0;
    /// Whether it is a link to something that is there. Error: NotFound.
    virtual Result<bool> is_link(const std::string& path) = 0;
};

using DiskNumber = std::uint32_t;

/// The host's own use of a disk or a volume.
struct HostUse {
    bool by_windows = false;         ///< the disk starts Windows, or Windows runs from it
    std::vector<std::string> paths;  ///< where its volumes are: "D:\\", "C:\\var\\lib\\kubelet\\x\\"
};

/// The host's disks. Errors: NotFound, Io, MethodNotAllowed if it has none to offer.
class Disks {
public:
    struct Disk {
        DiskNumber number = 0;
        std::string location;  ///< as Windows writes it: "Integrated : Adapter 1 : Port 0 : Target 2 : LUN 0"
        std::string serial_number, unique_id;
    };
    virtual ~Disks() = default;
    virtual Task<std::vector<Disk>> list() = 0;
    virtual Task<> rescan() = 0;
    /// Creates one partition of the whole disk, unless it has one.
    virtual Task<> partition(DiskNumber disk) = 0;
    virtual Task<std::int64_t> size(DiskNumber disk) = 0;
    virtual Task<bool> is_online(DiskNumber disk) = 0;
    virtual Task<> set_online(DiskNumber disk, bool online) = 0;
    virtual Task<HostUse> use_of(DiskNumber disk) = 0;
};

/// The host's volumes, by names such as "\\?\Volume{…}\". Errors as of Disks.
class Volumes {
public:
    struct Stats {
        std::int64_t total = 0, used = 0;  ///< bytes
    };
    virtual ~Volumes() = default;
    /// `partition` 0 means all.
    virtual Task<std::vector<std::string>> list(DiskNumber disk, std::uint32_t partition) = 0;
    virtual Task<> mount(std::string volume, std::string path) = 0;
    /// Flushes pending writes first.
    virtual Task<> unmount(std::string volume, std::string path) = 0;
    virtual Task<bool> is_formatted(std::string volume) = 0;
    virtual Task<> format(std::string volume) = 0;
    /// 0 bytes: as large as its disk allows.
    virtual Task<> resize(std::string volume, std::int64_t bytes) = 0;
    virtual Task<Stats> stats(std::string volume) = 0;
    virtual Task<DiskNumber> disk_of(std::string volume) = 0;
    virtual Task<std::string> volume_at(std::string path) = 0;
    virtual Task<> flush(std::string volume) = 0;
    virtual Task<HostUse> use_of(std::string volume) = 0;
};

/// Shares of other machines ("\\server\share"). Errors as of Disks.
class Shares {
public:
    virtual ~Shares() = default;
    /// Success if it is already mapped and answers; a mapping that does not answer is replaced.
    virtual Task<> map(std::string remote, std::string user, std::string password) = 0;
    virtual Task<> unmap(std::string remote) = 0;
};

/// The host's iSCSI initiator. Errors as of Disks.
class Iscsi {
public:
    struct Portal {
        std::string address;
        std::uint32_t port = 0;
    };
    enum class Chap { None, OneWay, Mutual };
    struct Login {
        Chap chap = Chap::None;
        std::string user, secret;
        bool multipath = false;
    };
    virtual ~Iscsi() = default;
    virtual Task<> add_portal(Portal portal) = 0;
    virtual Task<> remove_portal(Portal portal) = 0;
    virtual Task<std::vector<Portal>> portals() = 0;
    /// Names of the targets behind it.
    virtual Task<std::vector<std::string>> discover(Portal portal) = 0;
    virtual Task<> connect(Portal portal, std::string target, Login login) = 0;
    virtual Task<> disconnect(Portal portal, std::string target) = 0;
    virtual Task<std::vector<DiskNumber>> disks_of(Portal portal, std::string target) = 0;
    /// By which targets prove to this host who they are, for all of them.
    virtual Task<> set_mutual_secret(std::string secret) = 0;
};

/// The machine and its services. Errors as of Disks.
class Machine {
public:
    using Service = api::csiproxy::v1alpha1::GetServiceResponse;
    virtual ~Machine() = default;
    virtual Task<std::string> serial_number() = 0;
    virtual Task<Service> service(std::string name) = 0;
    virtual Task<> start_service(std::string name) = 0;
    virtual Task<> stop_service(std::string name, bool with_dependents) = 0;
};

/// The proxy's host; all outlive it. For a null part, every method answers that this host does not have it.
struct Host {
    Files& files;
    Disks* disks = nullptr;
    Volumes* volumes = nullptr;
    Shares* shares = nullptr;
    Machine* machine = nullptr;
    Iscsi* iscsi = nullptr;
    std::vector<std::string> services = {"msiscsi"};  ///< services that drivers may start and stop
};

}  // namespace porthole::csi_proxy
