#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/random.h"

namespace porthole::store {

/// A file's bytes. Copies share what they have in common.
class FileContent {
public:
    std::int64_t size() const { return size_; }
    /// Zeros beyond the end.
    void read(std::int64_t offset, char* into, std::size_t count) const;
    void write(std::int64_t offset, std::string_view bytes);
    void truncate(std::int64_t size);

private:
    static constexpr std::int64_t PageSize = 4096;
    std::vector<std::shared_ptr<const std::string>> pages_;  ///< null: zeros
    std::int64_t size_ = 0;
};

/// Files in memory that tell what a program has written from what a sync has made durable. Copies are the same disk.
struct CrashDisk {
    struct File;
    using Names = std::map<std::string, std::shared_ptr<File>>;
    Names names;          ///< as programs see them
    Names durable_names;  ///< as they were at the last sync of their folder

    /// What a machine finds that has lost its power now: everything that was synced and, drawn by `random`, none, all, a beginning, an
    /// end, or any sectors of the rest, with the last write torn. The result is a disk of its own, all of it durable.
    CrashDisk after_power_failure(Random& random) const;
};

/// SQLite's operating system for tests: everything that is opened from now on is on disk(), one process at a time. SQLite's default while
/// it lives; no database may be open when it ends. One thread.
class CrashFileSystem {
public:
    enum class Call { Open, Delete, Read, Size, Write, Truncate, Sync, Map };

    explicit CrashFileSystem(Random& random);
    ~CrashFileSystem();

    CrashDisk& disk() { return disk_; }
    /// Requires: no database is open.
    void insert(CrashDisk disk) { disk_ = std::move(disk); }

    /// Whether the next call fails. A failed write may have written some of it; after a failed sync, what was not written stays readable
    /// and is never written, as on Linux. Empty: none fails.
    std::function<bool(Call)> fails;
    /// Called in the middle of every call that changes the disk: what was to be written may or may not be there.
    std::function<void()> changing;

    /// What SQLite's functions do; not for tests.
    bool failing(Call call) { return fails && fails(call); }
    void change() {
        if (changing) changing();
    }
    Random& random() { return random_; }

private:
    struct Vfs;
    Random& random_;
    CrashDisk disk_;
    std::unique_ptr<Vfs> vfs_;
};

}  // namespace porthole::store
