#include "csi_proxy/held_removal_windows.h"

#include <windows.h>

#include <winternl.h>

#include <cstddef>
#include <vector>

#include "base/strings.h"
#include "base/wide_windows.h"
#include "runtime/handle_windows.h"

namespace porthole::csi_proxy {
namespace {

constexpr DWORD ShareNoDelete = FILE_SHARE_READ | FILE_SHARE_WRITE;  // what is open keeps its name
constexpr ACCESS_MASK Look = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES;
constexpr int DeepestFolder = 256;

/// `name` is one component: of the directory that is open, wherever names lead by now.
Result<Handle> open_in(const Handle& directory, std::wstring name, ACCESS_MASK access) {
    using Open = NTSTATUS(NTAPI*)(HANDLE*, ACCESS_MASK, OBJECT_ATTRIBUTES*, IO_STATUS_BLOCK*, ULONG, ULONG);
    using ErrorOf = ULONG(NTAPI*)(NTSTATUS);
    static const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    static const auto open = reinterpret_cast<Open>(reinterpret_cast<void*>(GetProcAddress(ntdll, "NtOpenFile")));
    static const auto error_of = reinterpret_cast<ErrorOf>(reinterpret_cast<void*>(GetProcAddress(ntdll, "RtlNtStatusToDosError")));
    constexpr ULONG Synchronous = 0x20, ForBackup = 0x4000, ReparsePoint = 0x200000, CaseInsensitive = 0x40;
    UNICODE_STRING text{};
    text.Buffer = name.data();
    text.Length = text.MaximumLength = static_cast<USHORT>(name.size() * sizeof(wchar_t));
    OBJECT_ATTRIBUTES object{};
    object.Length = sizeof object;
    object.RootDirectory = directory.get();
    object.ObjectName = &text;
    object.Attributes = CaseInsensitive;
    IO_STATUS_BLOCK status{};
    HANDLE opened = nullptr;
    const NTSTATUS code = open(&opened, access | SYNCHRONIZE, &object, &status, ShareNoDelete, Synchronous | ForBackup | ReparsePoint);
    if (code != 0) return windows_error("open " + to_utf8(name), error_of(code));
    return Handle(opened);
}

Result<DWORD> attributes_of(const Handle& file) {
    FILE_ATTRIBUTE_TAG_INFO info{};
    if (!GetFileInformationByHandleEx(file.get(), FileAttributeTagInfo, &info, sizeof info)) return windows_error("stat", GetLastError());
    return info.FileAttributes;
}

bool is_plain_directory(DWORD attributes) { return attributes & FILE_ATTRIBUTE_DIRECTORY && !(attributes & FILE_ATTRIBUTE_REPARSE_POINT); }

Result<std::vector<std::wstring>> names_in(const Handle& directory) {
    alignas(FILE_FULL_DIR_INFO) std::byte buffer[16384];
    std::vector<std::wstring> names;
    for (auto kind = FileFullDirectoryRestartInfo; GetFileInformationByHandleEx(directory.get(), kind, buffer, sizeof buffer);
         kind = FileFullDirectoryInfo) {
        for (const std::byte* at = buffer;;) {
            const auto* entry = reinterpret_cast<const FILE_FULL_DIR_INFO*>(at);
            std::wstring name(entry->FileName, entry->FileNameLength / sizeof(wchar_t));
            if (name != L"." && name != L"..") names.push_back(std::move(name));
            if (entry->NextEntryOffset == 0) break;
            at += entry->NextEntryOffset;
        }
    }
    const DWORD code = GetLastError();
    if (code != ERROR_NO_MORE_FILES) return windows_error("list", code);
    return names;
}

/// The open file, whatever has its name now.
Result<void> remove_open(const Handle& file, DWORD attributes) {
    if (attributes & FILE_ATTRIBUTE_READONLY) {
        FILE_BASIC_INFO basic{};  // zeros leave times as they are
        basic.FileAttributes = (attributes & ~DWORD{FILE_ATTRIBUTE_READONLY}) | FILE_ATTRIBUTE_NORMAL;
        SetFileInformationByHandle(file.get(), FileBasicInfo, &basic, sizeof basic);
    }
    FILE_DISPOSITION_INFO remove{};
    remove.DeleteFile = TRUE;
    if (!SetFileInformationByHandle(file.get(), FileDispositionInfo, &remove, sizeof remove))
        return windows_error("remove", GetLastError());
    return {};
}

Result<void> remove_inside(const Handle& directory, int depth);

Result<void> remove_in(const Handle& directory, const std::wstring& name, bool tree, int depth) {
    TRY(const Handle own, open_in(directory, name, Look | DELETE | FILE_WRITE_ATTRIBUTES));
    TRY(const DWORD attributes, attributes_of(own));
    Result<void> done;
    if (tree && is_plain_directory(attributes)) done = remove_inside(own, depth);
    if (done) done = remove_open(own, attributes);
    if (!done) return std::move(done).error().with_context(to_utf8(name));
    return {};
}

Result<void> remove_inside(const Handle& directory, int depth) {
    if (depth == 0) return Error(Reason::Io, "too many directories below each other");
    TRY(const auto names, names_in(directory));
    for (const std::wstring& name : names) TRY_VOID(ignore_not_found(remove_in(directory, name, true, depth - 1)));
    return {};
}

}  // namespace

Result<void> remove_by_handles(const std::string& directory, const std::string& path, Removal what) {
    std::vector<Handle> way;
    way.emplace_back(
        CreateFileW(to_wide(directory).c_str(), Look, ShareNoDelete, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
    if (!way.back()) return windows_error("open " + directory, GetLastError());
    const std::string below = path.substr(directory.size() + 1);
    const auto components = split_views(below, '\\');
    const std::size_t entered = components.size() - (what == Removal::Contents ? 0 : 1);
    for (std::size_t i = 0; i < entered; ++i) {
        auto next = open_in(way.back(), to_wide(std::string(components[i])), Look);
        if (is_not_found(next) && what == Removal::Tree) return {};
        TRY_VOID(next);
        TRY(const DWORD attributes, attributes_of(*next));
        if (!is_plain_directory(attributes))
            return Error(Reason::Forbidden, path + " leads through something other than a directory: " + std::string(components[i]));
        way.push_back(*std::move(next));
    }
    if (what == Removal::Contents) return remove_inside(way.back(), DeepestFolder);
    auto removed = remove_in(way.back(), to_wide(std::string(components.back())), what == Removal::Tree, DeepestFolder);
    return what == Removal::Tree ? ignore_not_found(std::move(removed)) : std::move(removed);
}

std::optional<Result<void>> remove_held(const std::string& directory, const std::string& path, Removal what) {
    static const bool is_wine = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
    if (is_wine) return std::nullopt;
    return remove_by_handles(directory, path, what);
}

}  // namespace porthole::csi_proxy
