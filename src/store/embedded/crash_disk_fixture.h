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

/// A file's bytes. Copies share equal pages.
class FileContent {
public:
    std::int64_t size() const { return size_; }
    /// Returns zeros beyond the end.
    void read(std::int64_t offset, char* into, std::size_t count) const;
    void write(std::int64_t offset, std::string_view bytes);
    void truncate(std::int64_t size);

private:
    static constexpr std::int64_t PageSize = 4096;
    std::vector<std::shared_ptr<const std::string>> pages_;  ///< null: zeros
    std::int64_t size_ = 0;
};

/// Files in memory that distinguish what a program has written from what a sync has made durable. Copies are independent disks.
struct CrashDisk {
    struct File;
    using Names = std::map<std::string, std::shared_ptr<File>>;
    Names names;          ///< as programs see them
    Names durable_names;  ///< as they were at the last sync of their directory

    /// The disk after a power failure now: everything that was synced and, chosen by `random`, none, all, a prefix, a suffix, or any
    /// sectors of the rest, with the last write torn. The result is a separate disk on which everything is durable.
    CrashDisk after_power_failure(Random& random) const;
};

/// SQLite's operating system for tests: all files opened from now on are on disk(), for one process at a time. It is SQLite's default while
/// it exists; no database may be open when it is destroyed. One thread at a time: others may go on only in `between`.
class CrashFileSystem {
public:
    enum class Call { Open, Delete, Read, Size, Write, Truncate, Sync, Map };

    explicit CrashFileSystem(Random& random);
    ~CrashFileSystem();

    CrashDisk& disk() { return disk_; }
    /// Requires: no database is open.
    void insert(CrashDisk disk) { disk_ = std::move(disk); }

    /// Whether the next call fails. A failed write may have written a part; after a failed sync, unwritten data stay readable but are never
    /// written, as on Linux. Empty: no call fails.
    std::function<bool(Call)> fails;
    /// Called before every call, also those about locks and shared memory.
    std::function<void()> between;
    /// Called in the middle of every call that changes the disk: the data may or may not have been written.
    std::function<void()> changing;

    /// Used by the SQLite functions; not for tests.
    void begin_call() {
        if (between) between();
    }
    bool failing(Call call) {
        begin_call();
        return fails && fails(call);
    }
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
