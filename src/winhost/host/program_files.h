#pragma once
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// Copies the Windows programs of the directory `programs` to a host's drive, which is at `drive` below the directory `root`: CNI plugins
/// to k\cni, other .exe files to k, .dll files to windows\system32. Hard links of one file stay hard links. Unchanged files are not
/// touched, since they may be running. Containers may write below `root`: no link there is followed. Blocking. Errors: Forbidden for a link
/// in the way; Io.
Result<void> place_program_files(const std::string& programs, const std::string& root, const std::string& drive);

}  // namespace porthole::winhost
