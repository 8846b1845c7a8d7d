#include <windows.h>

#include <algorithm>

#include "base/wide_windows.h"
#include "cmd/self_check/machine.h"
#include "cni/plugin/host_local/host_local.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr DWORD ShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

Handle open_file(const std::string& path, DWORD access = GENERIC_READ) {
    return Handle(CreateFileW(to_wide(path).c_str(), access, ShareAll, nullptr, OPEN_EXISTING, 0, nullptr));
}

std::string text_of(const Handle& file) {
    char text[64];
    DWORD size = 0;
    return ReadFile(file.get(), text, sizeof text, &size, nullptr) ? std::string(text, size) : "";
}

/// Names come back as they were given, and are found in any case.
Result<Value> name_kept(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("größe.Txt"), "x", 0644));
    TRY(const auto names, machine.files.list(machine.folder));
    Value list = Value::array();
    for (const std::string& name : names) list.as_array().emplace_back(name);
    return Value::object(
        {{"list", std::move(list)},
         {"byOtherCase", machine.files.exists(machine.path("GRÖSSE.TXT")) || machine.files.exists(machine.path("GRÖßE.TXT"))}});
}

Result<Value> renamed_over(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("old"), "old", 0644));
    TRY_VOID(machine.files.write(machine.path("new"), "new", 0644));
    TRY_VOID(machine.files.rename(machine.path("new"), machine.path("old")));
    TRY(const std::string text, machine.files.read(machine.path("old")));
    return Value::object({{"text", text}, {"left", machine.files.exists(machine.path("new"))}});
}

Result<Value> renamed_over_open(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("old"), "old", 0644));
    TRY_VOID(machine.files.write(machine.path("new"), "new", 0644));
    const Handle reader = open_file(machine.path("old"));
    const auto renamed = machine.files.rename(machine.path("new"), machine.path("old"));
    return Value::object({{"renamed", renamed.has_value()}, {"readerSees", text_of(reader)}});
}

Result<Value> renamed_over_directory(Machine& machine) {
    TRY_VOID(machine.files.create_directories(machine.path("old"), 0755));
    TRY_VOID(machine.files.create_directories(machine.path("new\\below"), 0755));
    TRY_VOID(machine.files.rename(machine.path("new"), machine.path("old")));
    return Value::object({{"moved", machine.files.exists(machine.path("old\\below"))}});
}

/// As a secret is replaced while someone still reads the one before.
Result<Value> replaced_while_open(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("key.new"), "left behind", 0644));
    const Handle reader = open_file(machine.path("key.new"));
    const auto replaced = machine.files.replace(machine.path("key"), "secret", 0600);
    return Value::object({{"replaced", replaced.has_value()}, {"readerSees", text_of(reader)}});
}

Result<Value> read_only_removed(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("file"), "x", 0444));
    if (!SetFileAttributesW(to_wide(machine.path("file")).c_str(), FILE_ATTRIBUTE_READONLY))
        return windows_error("setting attributes", GetLastError());
    TRY(const FileStatus status, machine.files.status(machine.path("file")));
    TRY_VOID(machine.files.remove(machine.path("file")));
    return Value::object({{"mode", status.mode == 0444 ? "0444" : "other"}, {"left", machine.files.exists(machine.path("file"))}});
}

Result<Value> long_path(Machine& machine) {
    const std::string deep = machine.path(std::string(100, 'x') + "\\" + std::string(100, 'y') + "\\" + std::string(100, 'z'));
    TRY_VOID(machine.files.create_directories(deep, 0755));
    TRY_VOID(machine.files.write(deep + "\\file", "x", 0644));
    TRY(const std::string text, machine.files.read(deep + "\\file"));
    return Value::object({{"text", text}});
}

Result<Value> drive_is_there(Machine& machine) {
    const std::string drive = machine.folder.substr(0, 3);
    TRY_VOID(machine.files.create_directories(drive, 0755));
    TRY(const FileSystemUsage usage, machine.files.usage(drive));
    return Value::object({{"space", usage.capacity > 0 && usage.available <= usage.capacity}});
}

Result<Value> identity(Machine& machine) {
    const std::string path = machine.path("log");
    TRY_VOID(machine.files.write(path, "a", 0644));
    TRY(const FileStatus first, machine.files.status(path));
    TRY_VOID(machine.files.write(path, "ab", 0644));
    TRY(const FileStatus written, machine.files.status(path));
    TRY_VOID(machine.files.rename(path, path + ".1"));
    TRY(const FileStatus renamed, machine.files.status(path + ".1"));
    TRY_VOID(machine.files.write(path, "c", 0644));
    TRY(const FileStatus next, machine.files.status(path));
    return Value::object({{"sameAfterWriting", written.inode == first.inode && written.device == first.device},
                          {"sameAfterRenaming", renamed.inode == first.inode},
                          {"otherForNext", next.inode != first.inode}});
}

/// The lock of the leases of pods' addresses.
Result<Value> locked(Machine& machine) {
    const auto try_lock = [&](const Handle& file) {
        OVERLAPPED whole{};
        constexpr DWORD Flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
        return LockFileEx(file.get(), Flags, 0, MAXDWORD, MAXDWORD, &whole) ? ERROR_SUCCESS : GetLastError();
    };
    const auto locks = cni::make_file_locks();
    TRY(auto held, locks->lock(machine.path("lock")));
    const Handle second = open_file(machine.path("lock"), GENERIC_READ | GENERIC_WRITE);
    const DWORD while_held = try_lock(second);
    held.reset();
    return Value::object({{"whileHeld", static_cast<int>(while_held)}, {"afterwards", static_cast<int>(try_lock(second))}});
}

/// The names of the node's programs are links to one file.
Result<Value> hard_link(Machine& machine) {
    const std::wstring one = to_wide(machine.path("one")), two = to_wide(machine.path("two"));
    TRY_VOID(machine.files.write(machine.path("one"), "x", 0644));
    if (!CreateHardLinkW(two.c_str(), one.c_str(), nullptr)) return windows_error("linking", GetLastError());
    TRY(const FileStatus first, machine.files.status(machine.path("one")));
    TRY(const FileStatus second, machine.files.status(machine.path("two")));
    TRY_VOID(machine.files.remove(machine.path("one")));
    TRY(const std::string text, machine.files.read(machine.path("two")));
    return Value::object({{"same", first.inode == second.inode}, {"text", text}});
}

}  // namespace

Area area_files() {
    return {.probes = {{"name-kept", name_kept},
                       {"renamed-over", renamed_over},
                       {"renamed-over-open", renamed_over_open},
                       {"renamed-over-directory", renamed_over_directory},
                       {"replaced-while-open", replaced_while_open},
                       {"read-only-removed", read_only_removed},
                       {"long-path", long_path},
                       {"drive", drive_is_there},
                       {"identity", identity},
                       {"lock", locked},
                       {"hard-link", hard_link}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
