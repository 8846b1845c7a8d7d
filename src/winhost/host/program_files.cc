#include "winhost/host/program_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view CniPlugins[] = {"win-bridge.exe", "win-overlay.exe", "wincni.exe", "flannel.exe", "host-local.exe"};

/// "" for what has no place on the host.
std::string folder_of(const fs::path& file) {
    if (file.extension() == ".dll") return "windows/system32";
    if (file.extension() != ".exe") return "";
    return std::find(std::begin(CniPlugins), std::end(CniPlugins), file.filename().string()) != std::end(CniPlugins) ? "k/cni" : "k";
}

/// Same size and same time: a copy has its source's. A package gives files the time of its commit, which may lie before the copy of the
/// version before was made, so "newer than its source" says nothing.
bool is_current(const fs::path& source, const fs::path& target) {
    std::error_code code;
    return fs::file_size(source, code) == fs::file_size(target, code) && !code &&
           fs::last_write_time(target, code) == fs::last_write_time(source, code) && !code;
}

Result<void> place(const fs::path& source, const fs::path& target, const fs::path* same) {
    std::error_code code;
    const fs::path fresh = target.string() + ".new";
    fs::create_directories(target.parent_path(), code);
    fs::remove(fresh, code);
    if (same) {
        fs::create_hard_link(*same, fresh, code);
        if (code) fs::copy_file(source, fresh, code);  // overlayfs may refuse
    } else {
        fs::copy_file(source, fresh, code);
    }
    if (!code) fs::last_write_time(fresh, fs::last_write_time(source), code);
    if (!code) fs::rename(fresh, target, code);
    if (code) return Error(Reason::Io, "placing " + source.filename().string() + " on the emulated host: " + code.message());
    return {};
}

}  // namespace

Result<void> place_program_files(const std::string& programs, const std::string& drive) {
    std::error_code code;
    std::map<std::pair<dev_t, ino_t>, fs::path> placed;
    fs::directory_iterator entries(programs, code);
    if (code) return Error(Reason::Io, "the folder of Windows programs " + programs + " cannot be read: " + code.message());
    for (const auto& entry : entries) {
        const std::string folder = folder_of(entry.path());
        struct stat status{};
        if (folder.empty() || ::stat(entry.path().c_str(), &status) != 0) continue;
        const fs::path target = fs::path(drive) / folder / entry.path().filename();
        const auto known = placed.find({status.st_dev, status.st_ino});
        if (!is_current(entry.path(), target)) {
            if (auto done = place(entry.path(), target, known == placed.end() ? nullptr : &known->second); !done) return done;
        }
        placed.try_emplace({status.st_dev, status.st_ino}, target);
    }
    return {};
}

}  // namespace porthole::winhost
