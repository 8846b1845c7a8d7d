#include <windows.h>

#include "base/wide_windows.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_system.h"
#include "runtime/handle_windows.h"

namespace porthole {
namespace {

Error write_error(const char* what, const std::filesystem::path& path) {
    return windows_error(std::string(what) + " " + to_utf8(path.wstring()), ::GetLastError());
}

Result<void> write_through(HANDLE file, std::string_view text, const std::filesystem::path& path) {
    while (!text.empty()) {
        DWORD count = 0;
        if (!::WriteFile(file, text.data(), static_cast<DWORD>(text.size()), &count, nullptr)) return write_error("cannot write", path);
        text.remove_prefix(count);
    }
    if (!::FlushFileBuffers(file)) return write_error("cannot write", path);
    return {};
}

}  // namespace

Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode) {
    std::filesystem::path fresh = path;
    fresh += L".new";
    {
        const Handle made(::CreateFileW(fresh.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr));
        if (!made) return write_error("cannot write", path);
    }
    // Private before it holds anything.
    TRY_VOID(make_file_system()->change_mode(to_utf8(fresh.wstring()), mode));
    {
        const Handle file(::CreateFileW(fresh.c_str(), GENERIC_WRITE, 0, nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
        if (!file) return write_error("cannot write", path);
        TRY_VOID(write_through(file.get(), text, path));
    }
    if (!::MoveFileExW(fresh.c_str(), path.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return write_error("cannot replace", path);
    return {};
}

}  // namespace porthole
