#pragma once
#include <string>

#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// The directories and files of one pod or container, or of an emulated host itself.
struct Folder {
    std::string path;

    /// Of the host in the directory WindowsHostOptions::data.
    static Folder of_host(const std::string& data) { return {join_path(data, "h")}; }

    std::string upper() const { return join_path(path, "upper"); }
    std::string work() const { return join_path(path, "work"); }
    std::string rootfs() const { return join_path(path, "rootfs"); }
    std::string exchange() const { return join_path(path, "x"); }  ///< /.ph inside
    std::string socket() const { return join_path(path, "x/s"); }
    std::string exit_file() const { return join_path(path, "x/exit"); }
    /// The n-th source of the host's that is mounted into the container.
    std::string source(std::size_t number) const { return join_path(path, "sources/" + std::to_string(number)); }
    std::string pid() const { return join_path(path, "pid"); }  ///< the number of the first process, as runc has written it
    std::string record() const { return join_path(path, "record.json"); }
    std::string hosts() const { return join_path(path, "hosts"); }
    std::string resolv_conf() const { return join_path(path, "resolv.conf"); }
};

}  // namespace porthole::winhost
