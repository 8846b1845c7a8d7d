#pragma once
#include <string>

#include "base/log.h"
#include "runtime/files/file_system.h"

namespace porthole {

/// Closes a directory, with what is in it, to users who are not administrators; a failure is logged. Windows: there, every user may change
/// what a program makes below C:\ otherwise.
inline void close_directory(FileSystem& files, const std::string& path, const Logger& log) {
    if (const auto closed = files.restrict_to_administrators(path); !closed)
        log.warn("a directory is open to other users of this machine", {{"directory", path}, {"error", closed.error().message}});
}

/// Creates a directory in which only the system and administrators create anything. Error: Io if there is none.
inline Result<void> create_closed_directory(FileSystem& files, const std::string& path, const Logger& log) {
    TRY_VOID(files.create_directories(path, 0750));
    close_directory(files, path, log);
    return {};
}

}  // namespace porthole
