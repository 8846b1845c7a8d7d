#pragma once
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "base/result.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;

/// A named pipe of the host that a container is to see: both names whole, "\\.\pipe\app".
struct PipeMount {
    std::string host_name, container_name;
};

/// The named pipes among a container's mounts. As on Windows, nobody asks whether the host has them: a pipe that is not there is not
/// found when it is opened. Error: Invalid in Windows' words for what it does not take either: a pipe at a place for files, files at a
/// pipe's, two pipes under one name; and for names that only look like a pipe's ("\\?\pipe\x").
Result<std::vector<PipeMount>> plan_pipe_mounts(const std::vector<cri::Mount>& mounts);

}  // namespace porthole::winhost
