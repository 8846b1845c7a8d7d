#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "runtime/files/file_system.h"

namespace porthole::cni {

/// The attachment that has an address.
struct Holder {
    std::string container_id, interface;
    bool operator==(const Holder&) const = default;
};

/// The leases of one network: a directory with one file per address, named after it, that contains "container id CR LF interface";
/// "last_reserved_ip.<n>" contains the last address that set n assigned. The caller holds the directory's lock.
///
/// A lease appears completely or not at all, even if the process or the machine fails. Short blocking calls. Errors: those of FileSystem.
class Leases {
public:
    /// `colons`: whether the file system allows them in names (not on Windows: '_' replaces ':').
    Leases(FileSystem& files, std::string folder, bool colons) : files_(files), folder_(std::move(folder)), colons_(colons) {}

    struct Lease {
        IpAddress address;
        Holder holder;
    };
    Result<std::vector<Lease>> list();
    Result<void> put(const IpAddress& address, const Holder& holder);
    Result<void> remove(const IpAddress& address);
    std::optional<IpAddress> last_reserved(std::size_t set);
    Result<void> set_last_reserved(std::size_t set, const IpAddress& address);

private:
    std::string path_of(const IpAddress& address) const;
    Result<void> write(const std::string& path, const std::string& text);

    FileSystem& files_;
    std::string folder_;
    bool colons_;
};

}  // namespace porthole::cni
