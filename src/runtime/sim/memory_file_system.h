#pragma once
#include <map>
#include <optional>
#include <set>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::sim {

/// A file system in memory for tests and simulations: directories, files, symbolic links, modes and owners. `/` exists. Times come from
/// `clock`; `fail_writes` makes every change fail as on a full disk.
class MemoryFileSystem final : public FileSystem {
public:
    explicit MemoryFileSystem(const Clock& clock);

    void fail_writes(bool full) { full_ = full; }
    /// Simulates a power failure: files that were written with write() are empty afterwards.
    void cut_power();
    /// Plays a system without symbolic links.
    void refuse_links(bool refuse) { refuses_links_ = refuse; }
    /// A socket, device or pipe. The directory exists.
    void add_special(const std::string& path, FileType type) { make(path, type, 0660); }

    /// The accounts that allow_reading() has added to a restricted directory; nullopt for any other directory.
    std::optional<std::set<std::string>> readers(const std::string& directory) const;

    Result<std::string> read(const std::string& path, std::size_t limit = ReadLimit) override;
    Result<std::string> read_at(const std::string& path, std::uint64_t offset, std::size_t count) override;
    Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) override;
    Result<void> replace(const std::string& path, std::string_view contents, std::uint32_t mode) override;
    Result<void> create_directories(const std::string& path, std::uint32_t mode) override;
    Result<void> remove(const std::string& path) override;
    Result<void> remove_all(const std::string& path) override;
    Result<void> rename(const std::string& from, const std::string& to) override;
    Result<void> create_symlink(const std::string& target, const std::string& path) override;
    Result<std::string> read_link(const std::string& path) override;
    Result<std::string> real_path(const std::string& path) override;
    Result<FileStatus> status(const std::string& path) override;
    Result<FileStatus> link_status(const std::string& path) override;
    Result<std::vector<std::string>> list(const std::string& path) override;
    Result<void> change_mode(const std::string& path, std::uint32_t mode) override;
    Result<void> change_owner(const std::string& path, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid) override;
    Result<void> restrict_to_administrators(const std::string& directory, const std::vector<std::string>& readers) override;
    Result<void> allow_reading(const std::string& directory, const std::string& account) override;
    Result<FileSystemUsage> usage(const std::string& path) override;

private:
    struct Node {
        FileStatus status;
        std::string contents;  // of a file, or a link's target
        bool durable = false;  // whether they outlive a power cut
        std::optional<std::set<std::string>> readers;
    };
    Result<std::string> resolve(const std::string& path, bool follow_last) const;
    Result<Node*> find(const std::string& path, bool follow_last);
    Result<std::string> place_of_new(const std::string& path);
    Node& make(const std::string& path, FileType type, std::uint32_t mode);
    bool has_children(const std::string& path) const;

    const Clock& clock_;
    std::map<std::string, Node> nodes_;  // by path without links
    std::uint64_t next_inode_ = 1;
    bool full_ = false;
    bool refuses_links_ = false;
};

}  // namespace porthole::sim
