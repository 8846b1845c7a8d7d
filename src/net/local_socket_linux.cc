#include <sys/stat.h>
#include <unistd.h>

#include "net/unix_socket.h"

namespace porthole::net {

/// On Linux the mode of the descriptor becomes that of the file: it is never open to others.
void restrict_to_owner(std::intptr_t socket) { ::fchmod(static_cast<int>(socket), 0600); }

bool has_socket_file(const std::string& path) {
    struct stat found;
    return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

void remove_socket_file(const std::string& path) { ::unlink(path.c_str()); }

Result<std::unique_ptr<Listener>> Listener::local(AsioLoop& loop, const std::string& path) { return listen_unix(loop, path); }

Task<std::unique_ptr<ByteStream>> connect_local(AsioLoop& loop, std::string path) { return connect_unix(loop, std::move(path)); }

}  // namespace porthole::net
