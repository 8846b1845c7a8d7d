#pragma once
// Which DLL a program lacks, where it has ended because of that: Windows says it in a window only.
#include <windows.h>

#include <set>
#include <string>

namespace porthole::winhost {

/// The imports of one module, as it is mapped without being run.
class ImportSearch {
public:
    /// `path` of a program. The first DLL that it, or a DLL of it, needs and that is nowhere; "" when all are there.
    static std::string missing(const std::wstring& path) {
        SetDllDirectoryW(path.substr(0, path.rfind(L'\\')).c_str());
        return ImportSearch().missing_of(path.c_str(), 0);
    }

private:
    static constexpr int Deepest = 4;

    std::string missing_of(const wchar_t* path, int depth) {
        const HMODULE module = LoadLibraryExW(path, nullptr, DONT_RESOLVE_DLL_REFERENCES);
        if (!module || !seen_.insert(module).second) return "";
        const auto* base = reinterpret_cast<const char*>(module);
        const auto* header = reinterpret_cast<const IMAGE_NT_HEADERS64*>(base + reinterpret_cast<const IMAGE_DOS_HEADER*>(base)->e_lfanew);
        const auto& place = header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
        const auto* import = reinterpret_cast<const IMAGE_IMPORT_DESCRIPTOR*>(base + place.VirtualAddress);
        for (; place.VirtualAddress != 0 && import->Name != 0; ++import) {
            const char* name = base + import->Name;
            const std::wstring wide(name, name + lstrlenA(name));
            const HMODULE needed = LoadLibraryExW(wide.c_str(), nullptr, DONT_RESOLVE_DLL_REFERENCES);
            if (!needed) return name;
            wchar_t file[MAX_PATH];
            const DWORD length = GetModuleFileNameW(needed, file, MAX_PATH);
            if (depth == Deepest || length == 0 || length == MAX_PATH || is_of_system(std::wstring(file, length))) continue;
            if (const std::string found = missing_of(file, depth + 1); !found.empty()) return found;
        }
        return "";
    }

    std::set<HMODULE> seen_;

    static bool is_of_system(const std::wstring& path) {
        wchar_t folder[MAX_PATH];
        const UINT length = GetWindowsDirectoryW(folder, MAX_PATH);
        return path.size() > length &&
               CompareStringOrdinal(path.c_str(), static_cast<int>(length), folder, static_cast<int>(length), TRUE) == CSTR_EQUAL;
    }
};

}  // namespace porthole::winhost
