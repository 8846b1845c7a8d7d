#pragma once
#include "winhost/template/host_profile.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {

/// For every emulated container: few services, and no debugger that would start a desktop.
void trim_system(RegistryFile& system);
/// The host's own programs use no COM; Wine's server would keep its classes in memory.
void trim_host(RegistryFile& system);
/// For the user: files whose names begin with a dot are ordinary files, and temporary ones are where Windows has them.
void trim_user(RegistryFile& user, const std::string& temporary_folder);
/// Sets the version to `profile`, where Wine reads it.
void apply_profile(RegistryFile& system, const HostProfile& profile);
/// Whether the version is already set, by the name of the product: numbers may have been edited since.
bool says_profile(const RegistryFile& system, const HostProfile& profile);

}  // namespace porthole::winhost
