#pragma once
// Private to this folder.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>

namespace porthole {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

/// `name` in the folder `parent` itself: no link is followed. Null if it is none, with errno.
inline Directory open_directory(int parent, const char* name) {
    const int opened = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    Directory directory(opened < 0 ? nullptr : ::fdopendir(opened), &::closedir);
    if (!directory && opened >= 0) ::close(opened);
    return directory;
}

}  // namespace porthole
