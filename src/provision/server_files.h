#pragma once
#include "provision/control_plane_description.h"
#include "provision/server_host.h"
#include "runtime/files/file_system.h"

namespace porthole::provision {

/// The command line of `host`'s server, as its machine runs it.
std::vector<std::string> server_command(const ControlPlaneDescription& plane, const MachineDescription& host);

/// The token's name among them.
inline constexpr const char* ServerTokenFile = "server-token";

/// The files of `host`'s server: its unit, the cluster's name and networks, and copies of the description's certificates and token; a
/// token that the description does not name is added by the run. Error:
/// BadRequest with the field and a file that cannot be read.
Result<ServerFiles> server_files(FileSystem& files, const ControlPlaneDescription& plane, const MachineDescription& host);

}  // namespace porthole::provision
