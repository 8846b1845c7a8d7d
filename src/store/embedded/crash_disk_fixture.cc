#include "store/embedded/crash_disk_fixture.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/result.h"

namespace porthole::store {

// Content

void FileContent::read(std::int64_t offset, char* into, std::size_t count) const {
    std::memset(into, 0, count);
    const std::int64_t end = std::min(size_, offset + static_cast<std::int64_t>(count));
    for (std::int64_t at = offset; at < end;) {
        const std::int64_t in_page = at % PageSize, step = std::min(PageSize - in_page, end - at);
        const auto& page = pages_[static_cast<std::size_t>(at / PageSize)];
        if (page) std::memcpy(into + (at - offset), page->data() + in_page, static_cast<std::size_t>(step));
        at += step;
    }
}

void FileContent::write(std::int64_t offset, std::string_view bytes) {
    const std::int64_t end = offset + static_cast<std::int64_t>(bytes.size());
    size_ = std::max(size_, end);
    pages_.resize(static_cast<std::size_t>((size_ + PageSize - 1) / PageSize));
    for (std::int64_t at = offset; at < end;) {
        const std::int64_t in_page = at % PageSize, step = std::min(PageSize - in_page, end - at);
        auto& page = pages_[static_cast<std::size_t>(at / PageSize)];
        std::string changed = page ? *page : std::string(PageSize, '\0');
        std::memcpy(changed.data() + in_page, bytes.data() + (at - offset), static_cast<std::size_t>(step));
        page = std::make_shared<const std::string>(std::move(changed));
        at += step;
    }
}

void FileContent::truncate(std::int64_t size) {
    if (size < size_ && size % PageSize != 0) write(size, std::string(static_cast<std::size_t>(PageSize - size % PageSize), '\0'));
    size_ = size;
    pages_.resize(static_cast<std::size_t>((size_ + PageSize - 1) / PageSize));
}

// Disk

namespace {

constexpr std::size_t Sector = 512;

struct Change {
    std::int64_t offset = 0;  ///< of a truncation: the new size
    std::string bytes;
    bool truncation = false;

    void apply(FileContent& content) const {
        if (truncation) {
            content.truncate(offset);
        } else {
            content.write(offset, bytes);
        }
    }
};

/// Cuts a write where the sectors of a disk end: each of them is written or not.
std::vector<Change> sectors_of(const Change& change) {
    if (change.truncation) return {change};
    std::vector<Change> parts;
    for (std::size_t at = 0; at < change.bytes.size();) {
        const std::size_t step = std::min(Sector - (static_cast<std::size_t>(change.offset) + at) % Sector, change.bytes.size() - at);
        parts.push_back({change.offset + static_cast<std::int64_t>(at), change.bytes.substr(at, step)});
        at += step;
    }
    return parts;
}

}  // namespace

struct CrashDisk::File {
    FileContent current;
    FileContent durable;
    std::vector<Change> unsynced;
    bool sync_folder = false;  ///< with the first sync, as SQLite does for its log
    std::uint64_t failed_syncs = 0;

    // Locks of connections, and the memory that they share; none of it survives a crash.
    int shared = 0;
    bool reserved = false, exclusive = false;
    int mappings = 0;
    std::vector<std::unique_ptr<char[]>> regions;
    std::array<int, SQLITE_SHM_NLOCK> region_readers{};
    std::array<bool, SQLITE_SHM_NLOCK> region_writers{};

    void change(Change made) {
        made.apply(current);
        unsynced.push_back(std::move(made));
    }
    FileContent after_power_failure(Random& random) const;
};

FileContent CrashDisk::File::after_power_failure(Random& random) const {
    enum Kept { None, All, Beginning, End, Sectors, Kinds };
    FileContent content = durable;
    const auto kept = static_cast<Kept>(random.below(Kinds));
    if (kept == None || unsynced.empty()) return content;
    const std::size_t cut = random.below(unsynced.size());
    for (std::size_t i = 0; i < unsynced.size(); ++i) {
        if ((kept == Beginning && i > cut) || (kept == End && i < cut)) continue;
        if (kept == All || (kept != Sectors && i != cut)) {
            unsynced[i].apply(content);
        } else if (kept == Sectors) {
            for (const Change& part : sectors_of(unsynced[i])) {
                if (random.below(2)) part.apply(content);
            }
        } else {
            Change torn = unsynced[i];
            if (!torn.truncation) torn.bytes.resize(random.below(torn.bytes.size() + 1));
            torn.apply(content);
        }
    }
    return content;
}

CrashDisk CrashDisk::after_power_failure(Random& random) const {
    CrashDisk left;
    const auto keep = [&](const std::string& name, const std::shared_ptr<File>& file) {
        auto copy = std::make_shared<File>();
        copy->current = copy->durable = file->after_power_failure(random);
        left.names[name] = std::move(copy);
    };
    for (const auto& [name, file] : durable_names) {
        const auto now = names.find(name);
        // Its removal, or another file in its place, may have reached the disk or not.
        if (now != names.end() && now->second == file) {
            keep(name, file);
        } else if (random.below(2)) {
            keep(name, file);
        } else if (now != names.end()) {
            keep(name, now->second);
        }
    }
    for (const auto& [name, file] : names) {
        if (!durable_names.contains(name) && random.below(2)) keep(name, file);
    }
    left.durable_names = left.names;
    return left;
}

// SQLite's functions

namespace crash_calls {
namespace {

struct Handle {
    sqlite3_file base;
    CrashFileSystem* system;
    std::shared_ptr<CrashDisk::File>* file;
    std::string* delete_at_close;  ///< its name, for a temporary file
    int lock;
    bool mapped;
    unsigned readers, writers;   ///< bits: locks of regions that this one holds
    std::uint64_t failed_syncs;  ///< of the file, those that this one knows of
};

Handle& handle_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
CrashDisk::File& file_of(Handle& handle) { return **handle.file; }
CrashFileSystem& system_of(sqlite3_vfs* vfs) { return *static_cast<CrashFileSystem*>(vfs->pAppData); }

int unlock(sqlite3_file* base, int level) {
    Handle& handle = handle_of(base);
    CrashDisk::File& file = file_of(handle);
    if (handle.lock >= SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_RESERVED) file.reserved = false;
    if (handle.lock == SQLITE_LOCK_EXCLUSIVE && level < SQLITE_LOCK_EXCLUSIVE) file.exclusive = false;
    if (handle.lock >= SQLITE_LOCK_SHARED && level == SQLITE_LOCK_NONE) --file.shared;
    handle.lock = std::min(handle.lock, level);
    return SQLITE_OK;
}

int lock(sqlite3_file* base, int level) {
    Handle& handle = handle_of(base);
    handle.system->begin_call();
    CrashDisk::File& file = file_of(handle);
    if (handle.lock >= level) return SQLITE_OK;
    if (handle.lock == SQLITE_LOCK_NONE) {
        if (file.exclusive) return SQLITE_BUSY;
        ++file.shared;
        handle.lock = SQLITE_LOCK_SHARED;
    }
    if (level == SQLITE_LOCK_SHARED) return SQLITE_OK;
    if (handle.lock == SQLITE_LOCK_SHARED) {
        if (file.reserved) return SQLITE_BUSY;
        if (level == SQLITE_LOCK_EXCLUSIVE && file.shared > 1) return SQLITE_BUSY;
        file.reserved = true;
        handle.lock = SQLITE_LOCK_RESERVED;
    }
    if (level == SQLITE_LOCK_RESERVED) return SQLITE_OK;
    if (file.shared > 1) return SQLITE_BUSY;
    file.exclusive = true;
    handle.lock = SQLITE_LOCK_EXCLUSIVE;
    return SQLITE_OK;
}

int unmap(sqlite3_file* base, int) {
    Handle& handle = handle_of(base);
    if (!std::exchange(handle.mapped, false)) return SQLITE_OK;
    CrashDisk::File& file = file_of(handle);
    if (--file.mappings == 0) {
        file.regions.clear();
        file.region_readers = {};
        file.region_writers = {};
    }
    return SQLITE_OK;
}

int close(sqlite3_file* base) {
    Handle& handle = handle_of(base);
    unlock(base, SQLITE_LOCK_NONE);
    unmap(base, 0);
    if (handle.delete_at_close) handle.system->disk().names.erase(*handle.delete_at_close);
    delete handle.delete_at_close;
    delete handle.file;
    return SQLITE_OK;
}

int read(sqlite3_file* base, void* into, int count, sqlite3_int64 offset) {
    Handle& handle = handle_of(base);
    if (handle.system->failing(CrashFileSystem::Call::Read)) return SQLITE_IOERR_READ;
    const FileContent& content = file_of(handle).current;
    content.read(offset, static_cast<char*>(into), static_cast<std::size_t>(count));
    return offset + count <= content.size() ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* base, const void* bytes, int count, sqlite3_int64 offset) {
    Handle& handle = handle_of(base);
    Change change{offset, std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count))};
    const bool fails = handle.system->failing(CrashFileSystem::Call::Write);
    if (fails) change.bytes.resize(handle.system->random().below(change.bytes.size()));
    file_of(handle).change(std::move(change));
    handle.system->change();
    return !fails ? SQLITE_OK : handle.system->random().below(2) ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int truncate(sqlite3_file* base, sqlite3_int64 size) {
    Handle& handle = handle_of(base);
    if (handle.system->failing(CrashFileSystem::Call::Truncate)) return SQLITE_IOERR_TRUNCATE;
    file_of(handle).change({size, "", true});
    handle.system->change();
    return SQLITE_OK;
}

int sync(sqlite3_file* base, int) {
    Handle& handle = handle_of(base);
    CrashDisk::File& file = file_of(handle);
    handle.system->change();
    if (handle.system->failing(CrashFileSystem::Call::Sync)) {
        file.durable = file.after_power_failure(handle.system->random());
        file.unsynced.clear();
        ++file.failed_syncs;
    }
    // Linux tells each open file of a failure once: what was lost may be another one's writes.
    if (std::exchange(handle.failed_syncs, file.failed_syncs) != file.failed_syncs) return SQLITE_IOERR_FSYNC;
    file.durable = file.current;
    file.unsynced.clear();
    if (std::exchange(file.sync_folder, false)) handle.system->disk().durable_names = handle.system->disk().names;
    return SQLITE_OK;
}

int file_size(sqlite3_file* base, sqlite3_int64* size) {
    Handle& handle = handle_of(base);
    if (handle.system->failing(CrashFileSystem::Call::Size)) return SQLITE_IOERR_FSTAT;
    *size = file_of(handle).current.size();
    return SQLITE_OK;
}

int is_reserved(sqlite3_file* base, int* reserved) {
    const CrashDisk::File& file = file_of(handle_of(base));
    *reserved = file.reserved || file.exclusive;
    return SQLITE_OK;
}

int map_region(sqlite3_file* base, int index, int size, int extend, void volatile** into) {
    Handle& handle = handle_of(base);
    CrashDisk::File& file = file_of(handle);
    *into = nullptr;
    if (handle.system->failing(CrashFileSystem::Call::Map)) return SQLITE_IOERR_SHMMAP;
    if (!std::exchange(handle.mapped, true)) ++file.mappings;
    const auto place = static_cast<std::size_t>(index);
    while (extend && file.regions.size() <= place) file.regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    if (place < file.regions.size()) *into = file.regions[place].get();
    return SQLITE_OK;
}

int lock_region(sqlite3_file* base, int first, int count, int flags) {
    Handle& handle = handle_of(base);
    handle.system->begin_call();
    CrashDisk::File& file = file_of(handle);
    for (const bool trying : {true, false}) {
        if (trying && flags & SQLITE_SHM_UNLOCK) continue;
        for (int i = first; i < first + count; ++i) {
            const auto place = static_cast<std::size_t>(i);
            const unsigned bit = 1u << i;
            int& readers = file.region_readers[place];
            bool& writer = file.region_writers[place];
            if (trying) {
                const bool others_read = readers > (handle.readers & bit ? 1 : 0), others_write = writer && !(handle.writers & bit);
                if (others_write || (flags & SQLITE_SHM_EXCLUSIVE && others_read)) return SQLITE_BUSY;
            } else if (flags & SQLITE_SHM_LOCK && flags & SQLITE_SHM_SHARED) {
                if (!(handle.readers & bit)) ++readers;
                handle.readers |= bit;
            } else if (flags & SQLITE_SHM_LOCK) {
                writer = true;
                handle.writers |= bit;
            } else if (flags & SQLITE_SHM_SHARED) {
                if (handle.readers & bit) --readers;
                handle.readers &= ~bit;
            } else {
                if (handle.writers & bit) writer = false;
                handle.writers &= ~bit;
            }
        }
    }
    return SQLITE_OK;
}

constexpr sqlite3_io_methods Methods{
    .iVersion = 2,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = unlock,
    .xCheckReservedLock = is_reserved,
    .xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; },
    .xSectorSize = [](sqlite3_file*) { return 4096; },
    // As SQLite says of Linux's file systems: a write that is cut leaves the bytes around it alone.
    .xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
    .xShmMap = map_region,
    .xShmLock = lock_region,
    .xShmBarrier = [](sqlite3_file* base) { handle_of(base).system->begin_call(); },
    .xShmUnmap = unmap,
};

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* into, int flags, int* out_flags) {
    CrashFileSystem& system = system_of(vfs);
    into->pMethods = nullptr;
    if (system.failing(CrashFileSystem::Call::Open)) return SQLITE_CANTOPEN;
    const std::string name = path ? path : "temporary-" + std::to_string(system.random().next());
    auto& place = system.disk().names[name];
    if (!place) {
        if (!(flags & SQLITE_OPEN_CREATE)) {
            system.disk().names.erase(name);
            return SQLITE_CANTOPEN;
        }
        place = std::make_shared<CrashDisk::File>();
        system.change();
    }
    // As SQLite's functions for Unix do, whether the file was there or not.
    const int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
    if (flags & SQLITE_OPEN_CREATE && flags & journals) place->sync_folder = true;
    Handle& handle = *new (into) Handle{};
    handle.base.pMethods = &Methods;
    handle.system = &system;
    handle.file = new std::shared_ptr<CrashDisk::File>(place);
    handle.failed_syncs = place->failed_syncs;
    if (flags & SQLITE_OPEN_DELETEONCLOSE) handle.delete_at_close = new std::string(name);
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
}

int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    CrashFileSystem& system = system_of(vfs);
    if (system.failing(CrashFileSystem::Call::Delete)) return SQLITE_IOERR_DELETE;
    if (system.disk().names.erase(path) == 0) return SQLITE_IOERR_DELETE_NOENT;
    system.change();
    if (sync_folder) system.disk().durable_names = system.disk().names;
    return SQLITE_OK;
}

int access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
    const auto& names = system_of(vfs).disk().names;
    const auto found = names.find(path);
    // SQLite asks for a log as for one that is not empty.
    *result = found != names.end() && (flags != SQLITE_ACCESS_EXISTS || found->second->current.size() > 0);
    return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* into) {
    sqlite3_snprintf(size, into, "%s", path);
    return SQLITE_OK;
}

int random_bytes(sqlite3_vfs* vfs, int count, char* into) {
    std::ranges::copy(system_of(vfs).random().bytes(static_cast<std::size_t>(count)), into);
    return count;
}

}  // namespace
}  // namespace crash_calls

struct CrashFileSystem::Vfs {
    sqlite3_vfs vfs{};
};

CrashFileSystem::CrashFileSystem(Random& random) : random_(random), vfs_(std::make_unique<Vfs>()) {
    sqlite3_vfs& vfs = vfs_->vfs;
    vfs.iVersion = 1;
    vfs.szOsFile = sizeof(crash_calls::Handle);
    vfs.mxPathname = 512;
    vfs.zName = "porthole-crash";
    vfs.pAppData = this;
    vfs.xOpen = crash_calls::open;
    vfs.xDelete = crash_calls::remove;
    vfs.xAccess = crash_calls::access;
    vfs.xFullPathname = crash_calls::full_path;
    vfs.xRandomness = crash_calls::random_bytes;
    vfs.xSleep = [](sqlite3_vfs* own, int microseconds) {
        crash_calls::system_of(own).begin_call();
        return microseconds;
    };
    vfs.xCurrentTime = [](sqlite3_vfs*, double* day) {
        *day = 2460000.5;
        return SQLITE_OK;
    };
    vfs.xGetLastError = [](sqlite3_vfs*, int, char*) { return 0; };
    CHECK(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
    sqlite3_randomness(0, nullptr);  // its numbers, too, come from `random`
}

CrashFileSystem::~CrashFileSystem() { sqlite3_vfs_unregister(&vfs_->vfs); }

}  // namespace porthole::store
