#pragma once
#include <string>

#include "runtime/files/file_system.h"

namespace porthole {

/// The first of what is in `directory`, itself included, that belongs neither to the system nor to administrators nor to this program's
/// user; "" for none, and for a directory that is not there. The owner of a file may change it, whatever its access list says. Links count,
/// and are not followed. Windows only. Error: Io.
Result<std::string> find_of_others(FileSystem& files, const std::string& directory);

}  // namespace porthole
