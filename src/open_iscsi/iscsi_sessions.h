#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::open_iscsi {

/// A logical unit of a target that is a block device.
struct LogicalUnit {
    std::uint64_t number = 0;
    std::string device;  ///< "sdb"
    std::string folder;  ///< of the device in sysfs below its session: it is gone when the session is
};

/// A session of the kernel's initiator. Its id is never used again before the machine restarts.
struct Session {
    std::uint32_t id = 0;
    std::string target;   ///< "iqn.2026-11.example:disk"
    std::string address;  ///< of the portal that was asked for: "10.0.0.9", "fd00::9"
    std::string port;     ///< "3260"
    std::string state;    ///< "LOGGED_IN" if it works
    std::vector<LogicalUnit> units;

    bool is_logged_in() const { return state == "LOGGED_IN"; }
};

/// The sessions of one of open-iscsi's interfaces, in the order of their ids, as the directory `sys` ("/sys") shows them.
std::vector<Session> sessions_of(const std::string& interface, FileSystem& files, const std::string& sys = "/sys");

}  // namespace porthole::open_iscsi
