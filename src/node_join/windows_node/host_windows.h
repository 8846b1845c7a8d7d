#pragma once
#include <filesystem>

#include "node_join/windows_node/preflight.h"
#include "runtime/event_loop.h"
#include "runtime/worker_pool.h"

/// The parts of joining and leaving that use Windows itself.
namespace porthole::node_join {

/// Whether this process has an administrator's rights.
bool is_elevated();
/// The computer's name in lower case.
std::string computer_name();
/// The file of this program.
std::filesystem::path own_program();
/// Of this process' environment; "" for none.
std::string machine_variable(const wchar_t* name);
/// The same as services get it, regardless of this process' environment; "" for none.
std::string registered_machine_variable(const std::string& name);

/// `manager` determines whether a used port or name belongs to this node's own services.
HostFacts look_at_host(const WindowsNode& node, winservice::ServiceManager& manager);

/// Copies this program into `node.folder` under all of its names, and CNI plugins into its CNI directory. Error: Io; AlreadyExists while
/// one of them runs.
Result<void> install_programs(const WindowsNode& node);

/// Whether a CSI proxy that is not this node's service serves drivers on this host.
bool has_other_csi_proxy(const WindowsNode& node, winservice::ServiceManager& manager);

/// The node's services, whether they are there or not, without a CSI proxy's that is another program's: that is neither stopped nor changed
/// nor deleted.
std::vector<std::string> own_services(const WindowsNode& node);

/// Creates the directory, readable only by the system and administrators. Error: Io.
Result<void> make_secret_folder(const std::string& path);

}  // namespace porthole::node_join
