#pragma once
#include <filesystem>

#include "node_join/windows_node/preflight.h"
#include "runtime/event_loop.h"
#include "runtime/worker_pool.h"

/// What joining and leaving ask of Windows itself.
namespace porthole::node_join {

/// The computer's name in lower case.
std::string computer_name();
/// The file of this program.
std::filesystem::path own_program();
std::string machine_variable(const wchar_t* name);
/// The same as services get it, whatever the environment of this process says; "" for none.
std::string registered_machine_variable(const std::string& name);

/// `manager` tells whether what holds a port or a name is this node's own.
HostFacts look_at_host(const WindowsNode& node, winservice::ServiceManager& manager);

/// Puts this program into `node.folder` under all of its names, CNI plugins into its CNI folder. Error: Io; AlreadyExists while one of them
/// runs.
Result<void> install_programs(const WindowsNode& node);

/// Whether a CSI proxy that is not this node's service serves drivers on this host.
bool has_other_csi_proxy(const WindowsNode& node, winservice::ServiceManager& manager);

/// The node's services, whether they are there or not, without a CSI proxy's that is another program's: that is neither stopped nor changed
/// nor deleted.
std::vector<std::string> own_services(const WindowsNode& node);

/// Makes the folder, which from then on only the system and administrators can read. Error: Io.
Result<void> make_secret_folder(const std::string& path);

}  // namespace porthole::node_join
