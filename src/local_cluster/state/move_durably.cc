#include "local_cluster/state/move_durably.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace porthole::local_cluster {
namespace {

Error io_error(const std::string& what, const std::filesystem::path& path, const std::string& why) {
    return Error(Reason::Io, what + " " + path.string() + ": " + why);
}

}  // namespace

Result<void> move_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code error;
    std::filesystem::rename(from, to, error);
    if (error) return io_error("making", to, error.message());
    const std::string folder = std::filesystem::absolute(to).parent_path().string();
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = opened >= 0 && ::fsync(opened) == 0;
    const std::string why = std::strerror(errno);
    if (opened >= 0) ::close(opened);
    return synced ? Result<void>() : io_error("writing", folder, why);
}

}  // namespace porthole::local_cluster
