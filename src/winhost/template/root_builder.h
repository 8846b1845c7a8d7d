#pragma once  // private to this folder
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// Where Debian's packages put Wine.
struct WineInstallation {
    std::string loader = "/usr/lib/wine/wine64", server = "/usr/lib/wine/wineserver64";
    std::string libraries = "/usr/lib/x86_64-linux-gnu/wine";  ///< with x86_64-unix and x86_64-windows
    std::string data = "/usr/share/wine";

    /// Error: NotFound, naming the package to install.
    Result<void> check() const;
    /// Changes when another version is installed.
    std::string fingerprint() const;
    /// Files whose shared libraries the root needs: the programs and what they load at run time.
    std::vector<std::string> linked_files() const;
};

// Blocking steps; all errors are Io.

/// Fills the empty directory `root` with everything but the prefix: programs, trimmed DLLs, libraries (from `ldd_output`), settings, our
/// helpers.
Result<void> copy_installation(const WineInstallation& wine, const std::string& ldd_output, const std::string& root);
/// After Wine has created its prefix in `root`: removes what would use the network or start a desktop, installs our replacements, shares
/// the DLLs' disk space, edits the registry, and creates `template_folder`/profile-NAME and .../contained-user.
Result<void> finish_prefix(const WineInstallation& wine, const std::string& root, const std::string& template_folder);

}  // namespace porthole::winhost
