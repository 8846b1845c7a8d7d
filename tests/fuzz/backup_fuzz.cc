// Files that are given to `porthole restore` as backups.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "store/embedded/backup_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::store;
    static const std::string path = std::filesystem::temp_directory_path() / ("porthole-backup-fuzz-" + std::to_string(::getpid()));
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    std::uint64_t records = 0;
    const auto info = read_backup(path, [&](const Row& row) -> porthole::Result<void> {
        ++records;
        if (row.key.empty() || row.deleted || (row.revision_at && *row.revision_at > row.value.size())) __builtin_trap();
        return {};
    });
    if (info && info->records != records) __builtin_trap();
    std::filesystem::remove(path);
    return 0;
}
