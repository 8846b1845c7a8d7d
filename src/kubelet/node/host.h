#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Facts that do not change while the machine runs.
struct HostFacts {
    std::int64_t processors = 0;
    std::int64_t memory = 0;  ///< bytes
    std::int64_t swap = 0;
    std::string machine_id, system_uuid, boot_id, kernel_version, os_image;
    std::string operating_system;  ///< "linux" or "windows"
    std::string architecture;      ///< "amd64"
    std::string hostname;
    std::string windows_build;                           ///< "10.0.20348" on Windows
    std::vector<std::string> dns_servers, dns_searches;  ///< of the machine; Windows only, Linux has a resolv.conf
};

/// The machine's current resource use.
struct HostUsage {
    std::int64_t cpu_nanoseconds = 0;                                                            ///< used since boot, all processors
    std::int64_t memory_available = 0, memory_used = 0, memory_working_set = 0, memory_rss = 0;  ///< bytes
    std::int64_t page_faults = 0, major_page_faults = 0;
    std::int64_t boot_time = 0;  ///< seconds since 1970
    std::int64_t processes = 0, process_limit = 0;
    std::int64_t received_bytes = 0, sent_bytes = 0, receive_errors = 0, send_errors = 0;
    std::string network_interface;
    std::int64_t commit_total = 0, commit_limit = 0;  ///< bytes of memory and page files promised and promisable; Windows only
};

/// The seam to the machine. Short blocking calls; values that cannot be read are 0 or "".
class Host {
public:
    virtual ~Host() = default;
    virtual HostFacts describe() = 0;
    virtual HostUsage usage() = 0;
};

/// The machine the program runs on: /proc, /sys and /etc through `files`, which outlives it; on Windows, the registry and counters.
std::unique_ptr<Host> make_host(FileSystem& files);

}  // namespace porthole::kubelet
