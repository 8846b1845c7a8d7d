#include "store/embedded/data_lock.h"

#include <filesystem>

namespace porthole::store {

Result<FileLock> lock_data_directory(const std::string& directory) {
    std::error_code error;
    if (std::filesystem::create_directories(directory, error)) {
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    }
    if (error) return Error(Reason::Io, "creating the data directory " + directory + ": " + error.message());
    const std::string path = directory + "/lock";
    TRY(auto lock, FileLock::try_take(path));
    if (!lock)
        return Error(Reason::Conflict, "the data directory " + directory + " is in use by " + FileLock::read_holder(path) +
                                           ": stop it first, or choose another directory");
    TRY_VOID(lock->write_holder());
    return *std::move(lock);
}

}  // namespace porthole::store
