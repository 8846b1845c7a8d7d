#pragma once  // private to this folder
#include <string>

#include "base/result.h"
#include "winhost/template/wine_installation.h"

namespace porthole::winhost {

// Blocking steps; all errors are Io.

/// Fills the empty directory `root` with everything but the prefix: programs, trimmed DLLs, libraries (this machine's from `ldd_output`, or
/// all of a Wine root), settings, our helpers.
Result<void> copy_installation(const WineInstallation& wine, const std::string& ldd_output, const std::string& root);
/// After Wine has created its prefix in `root`: removes what would use the network or start a desktop, installs our replacements, shares
/// the DLLs' disk space, edits the registry, and creates `template_folder`/profile-NAME and .../contained-user.
Result<void> finish_prefix(const WineInstallation& wine, const std::string& root, const std::string& template_folder);

}  // namespace porthole::winhost
