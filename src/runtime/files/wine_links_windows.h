#pragma once
// Private to file_system_windows.cc.
#include <windows.h>

#include <cstdint>
#include <optional>
#include <string>

/// Detects Linux links, which Wine 8 shows as their targets: it would list and delete the files behind them; and Linux pipes and devices,
/// which it shows as files and does not delete. No Windows function reports them, so these functions make Linux system calls. On Windows
/// itself there are none.
namespace porthole::wine_links {

/// The Linux path; "" on Windows, and for a drive, whose own name is a link of Wine's.
inline std::string linux_path(std::wstring path) {
    using UnixName = char*(CDECL*)(const wchar_t*);
    static const auto unix_name =
        reinterpret_cast<UnixName>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "wine_get_unix_file_name")));
    if (!unix_name) return "";
    while (path.size() > 1 && path.back() == L'\\') path.pop_back();
    if (path.empty() || path.back() == L':' || path.back() == L'\\') return "";
    char* name = unix_name(path.c_str());
    std::string found = name ? name : "";
    if (name) HeapFree(GetProcessHeap(), 0, name);
    return found;
}

#ifdef __x86_64__
inline long long linux_call(long long number, long long a, long long b, long long c, long long d) {
    long long result;
    register long long r10 asm("r10") = d;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
inline long long word(const void* pointer) { return static_cast<long long>(reinterpret_cast<std::uintptr_t>(pointer)); }
#else
inline long long linux_call(long long, long long, long long, long long, long long) { return -1; }
inline long long word(const void*) { return 0; }
#endif

constexpr long long Here = -100;  // AT_FDCWD; the paths are absolute

/// Identifies a link, pipe or device.
struct Found {
    std::uint64_t device = 0, inode = 0;
    std::uint32_t type = 0;  ///< one of the following: bits of Linux' mode
};
constexpr std::uint32_t Link = 0120000, Pipe = 0010000, CharacterDevice = 0020000, BlockDevice = 0060000;

/// nullopt for anything but a link, a pipe or a device.
inline std::optional<Found> status(const std::wstring& path) {
    constexpr long long NewFstatat = 262, NoFollow = 0x100;
    constexpr std::uint32_t TypeBits = 0170000;
    const std::string name = linux_path(path);
    std::uint64_t found[18] = {};  // Linux' struct stat: device, inode, links, mode and owner, ...
    if (name.empty() || linux_call(NewFstatat, Here, word(name.c_str()), word(found), NoFollow) != 0) return std::nullopt;
    const std::uint32_t type = static_cast<std::uint32_t>(found[3]) & TypeBits;
    if (type != Link && type != Pipe && type != CharacterDevice && type != BlockDevice) return std::nullopt;
    return Found{found[0], found[1], type};
}

/// Removes what status() reported, never a directory.
inline bool remove(const std::wstring& path) {
    constexpr long long Unlinkat = 263;
    const std::string name = linux_path(path);
    return !name.empty() && linux_call(Unlinkat, Here, word(name.c_str()), 0, 0) == 0;
}

}  // namespace porthole::wine_links
