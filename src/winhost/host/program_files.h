#pragma once
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// Places the Windows programs of the folder `programs` on a host's drive: CNI plugins in k\cni, other .exe files in k, .dll files in
/// windows\system32. Names of one file stay names of one file. What is there unchanged is left alone, so that it may be running. Blocking.
/// Error: Io.
Result<void> place_program_files(const std::string& programs, const std::string& drive);

}  // namespace porthole::winhost
