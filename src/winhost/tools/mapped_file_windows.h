#pragma once
#include <windows.h>

#include <string>
#include <string_view>

namespace porthole::winhost {

/// The bytes of a file; none if it cannot be read.
class MappedFile {
public:
    explicit MappedFile(const std::wstring& path) {
        const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                        OPEN_EXISTING, 0, nullptr);
        if (file == INVALID_HANDLE_VALUE) return;
        LARGE_INTEGER size{};
        if (const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr)) {
            if (GetFileSizeEx(file, &size)) view_ = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
            if (view_) size_ = static_cast<std::size_t>(size.QuadPart);
            CloseHandle(mapping);
        }
        CloseHandle(file);
    }
    ~MappedFile() {
        if (view_) UnmapViewOfFile(view_);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::string_view bytes() const { return {static_cast<const char*>(view_), size_}; }

private:
    void* view_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace porthole::winhost
