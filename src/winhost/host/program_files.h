#pragma once
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// Places the Windows programs of the folder `programs` on a host's drive, which is at `drive` below the folder `root`: CNI plugins in
/// k\cni, other .exe files in k, .dll files in windows\system32. Names of one file stay names of one file. What is there unchanged is left
/// alone, so that it may be running. Containers may write below `root`: no link there is followed. Blocking. Errors: Forbidden for a link
/// in the way; Io.
Result<void> place_program_files(const std::string& programs, const std::string& root, const std::string& drive);

}  // namespace porthole::winhost
