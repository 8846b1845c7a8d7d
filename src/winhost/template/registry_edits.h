#pragma once
#include "winhost/template/host_profile.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {

/// What every emulated container has: few services, no debugger that would start a desktop.
void trim_system(RegistryFile& system);
/// Of the user: files whose names begin with a dot are ordinary files.
void trim_user(RegistryFile& user);
/// Makes it say that it is `profile`, in the way that Wine takes its version from.
void apply_profile(RegistryFile& system, const HostProfile& profile);

}  // namespace porthole::winhost
