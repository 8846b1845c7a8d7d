#pragma once
// Which DLL a program lacks, where it has ended because of that: Windows says it in a window only.
#include <windows.h>

#include <set>
#include <string>
#include <vector>

#include "winhost/tools/mapped_file_windows.h"
#include "winhost/tools/pe_imports.h"

namespace porthole::winhost {

/// The DLLs of one program, searched for as Windows does. None of their code is run.
class ImportSearch {
public:
    /// The first missing DLL of the program at `path` or of its DLLs; "" if none is missing. The program must have run with our environment
    /// and working directory.
    static std::string missing(const std::wstring& path) { return ImportSearch(path).missing_of(path, 0); }

private:
    static constexpr int Deepest = 4;
    static constexpr std::size_t MostFiles = 256;

    explicit ImportSearch(const std::wstring& program) {
        const std::wstring windows = text_of([](wchar_t* text, DWORD size) { return GetWindowsDirectoryW(text, size); });
        system_ = windows + L"\\";
        // The order of Windows with SafeDllSearchMode, which it has by default.
        for (const std::wstring& folder : {program.substr(0, program.rfind(L'\\')), windows + L"\\system32", windows + L"\\system", windows,
                                           text_of([](wchar_t* text, DWORD size) { return GetCurrentDirectoryW(size, text); }),
                                           text_of([](wchar_t* text, DWORD size) { return GetEnvironmentVariableW(L"PATH", text, size); })})
            folders_ += folder + L";";
    }

    std::string missing_of(const std::wstring& path, int depth) {
        if (seen_.size() == MostFiles || !seen_.insert(path).second) return "";
        const MappedFile file(path);
        for (const std::string& name : PeImage(file.bytes()).imports()) {
            const std::wstring wide(name.begin(), name.end());
            const std::wstring found = text_of(
                [&](wchar_t* text, DWORD size) { return SearchPathW(folders_.c_str(), wide.c_str(), L".dll", size, text, nullptr); });
            if (found.empty()) {
                // API set names have no file of their own.
                if (!LoadLibraryExW(wide.c_str(), nullptr, DONT_RESOLVE_DLL_REFERENCES)) return name;
                continue;
            }
            if (depth == Deepest || is_of_system(found)) continue;
            if (std::string deeper = missing_of(found, depth + 1); !deeper.empty()) return deeper;
        }
        return "";
    }

    bool is_of_system(const std::wstring& path) const {
        const int length = static_cast<int>(system_.size());
        return path.size() > system_.size() && CompareStringOrdinal(path.c_str(), length, system_.c_str(), length, TRUE) == CSTR_EQUAL;
    }

    /// The result of a Windows function that takes a buffer and its size; "" if it fails.
    template <class Function>
    static std::wstring text_of(Function function) {
        std::wstring text(MAX_PATH, 0);
        DWORD length = function(text.data(), static_cast<DWORD>(text.size()));
        if (length >= text.size()) {
            text.resize(length + 1);
            length = function(text.data(), static_cast<DWORD>(text.size()));
        }
        text.resize(length < text.size() ? length : 0);
        return text;
    }

    std::wstring folders_;  ///< search path of DLLs, each followed by ";"
    std::wstring system_;   ///< with "\" at its end
    std::set<std::wstring> seen_;
};

}  // namespace porthole::winhost
