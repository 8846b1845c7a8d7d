#pragma once
#include "winhost/template/host_profile.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {

/// What every emulated container has: few services, no debugger that would start a desktop.
void trim_system(RegistryFile& system);
/// The host's own programs use no COM; Wine's server would hold its classes in memory.
void trim_host(RegistryFile& system);
/// Of the user: files whose names begin with a dot are ordinary files.
void trim_user(RegistryFile& user);
/// Makes it say that it is `profile`, in the way that Wine takes its version from.
void apply_profile(RegistryFile& system, const HostProfile& profile);
/// Whether it says so already, by the name of the product: numbers may have been edited since.
bool says_profile(const RegistryFile& system, const HostProfile& profile);

}  // namespace porthole::winhost
