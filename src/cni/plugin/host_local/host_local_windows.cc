#include "cni/plugin/host_local/host_local.h"

#include <windows.h>

namespace porthole::cni {
namespace {

class LockedFile final : public FileLock {
public:
    explicit LockedFile(HANDLE file) : file_(file) {}
    ~LockedFile() override { ::CloseHandle(file_); }

private:
    HANDLE file_;
};

Error failed(const std::string& what, const std::string& path) {
    return Error(Reason::Io, what + " " + path + ": error " + std::to_string(::GetLastError()));
}

class LockFileLocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
        std::wstring wide(path.size(), L'\0');
        const int count =
            ::MultiByteToWideChar(CP_UTF8, 0, path.data(), static_cast<int>(path.size()), wide.data(), static_cast<int>(wide.size()));
        wide.resize(static_cast<std::size_t>(count));
        const HANDLE file =
            ::CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                          OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
        if (file == INVALID_HANDLE_VALUE) return failed("opening", path);
        auto held = std::make_unique<LockedFile>(file);
        OVERLAPPED whole{};
        if (!::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK, 0, MAXDWORD, MAXDWORD, &whole)) return failed("locking", path);
        return held;
    }
};

}  // namespace

std::unique_ptr<FileLocks> make_file_locks() { return std::make_unique<LockFileLocks>(); }

HostLocalOptions default_host_local_options() { return {.data_dir = "C:/var/lib/cni/networks", .colons = false}; }

}  // namespace porthole::cni
