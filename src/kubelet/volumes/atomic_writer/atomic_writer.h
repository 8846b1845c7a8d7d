#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/random.h"

namespace porthole::kubelet {

/// One file of a volume.
struct ProjectedFile {
    std::string contents;
    std::uint32_t mode = 0644;
    std::optional<std::uint32_t> owner;  ///< user id
    bool operator==(const ProjectedFile&) const = default;
};
/// By path relative to the volume, such as "ca.crt" or "conf/app.ini".
using Payload = std::map<std::string, ProjectedFile>;

/// Writes a set of files into a directory so that readers see either the old set or the new one.
///
/// The files are in "..<UTC time>.<random>", the link "..data" points there, and every top-level name is a link through "..data":
///
///     ..2026_01_01_00_00_00.123456789/key
///     ..data -> ..2026_01_01_00_00_00.123456789
///     key -> ..data/key
///
/// A change writes a new directory and renames a new "..data" over the old one. If nothing differs, nothing is changed. On a system without
/// links (create_symlink fails with MethodNotAllowed) the files themselves are written, replaced one by one. Blocks for the writes; one
/// writer for each directory at a time.
class AtomicWriter {
public:
    AtomicWriter(FileSystem& files, const Clock& clock, Random& random, std::string directory)
        : files_(files), clock_(clock), random_(random), directory_(std::move(directory)) {}

    /// True when something was written. Error: BadRequest for a path that is absolute, empty or leads out ("..").
    Result<bool> write(const Payload& payload, std::optional<std::uint32_t> group = std::nullopt);

private:
    bool is_current(const Payload& payload);
    std::vector<std::string> files_below(const std::string& directory);
    Result<void> write_without_links(const Payload& payload, const std::string& fresh);
    Result<std::string> write_new_directory(const Payload& payload, std::optional<std::uint32_t> group);
    Result<void> replace_data_link();
    Result<void> link_top_level(const Payload& payload);
    Result<void> remove_stale(const Payload& payload);

    FileSystem& files_;
    const Clock& clock_;
    Random& random_;
    std::string directory_;
};

}  // namespace porthole::kubelet
