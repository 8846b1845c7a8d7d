#include "winhost/host/program_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "runtime/files/file_system.h"
#include "winhost/bundle/held_tree.h"

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
bool is_current(const HeldTree& tree, const struct stat& source, const std::string& target) {
    const std::int64_t modified = std::int64_t{source.st_mtim.tv_sec} * 1'000'000'000 + source.st_mtim.tv_nsec;
    return tree.holds(target, static_cast<std::uint64_t>(source.st_size), modified);
}

}  // namespace

Result<void> place_program_files(const std::string& programs, const std::string& root, const std::string& drive) {
    TRY(const HeldTree tree, HeldTree::open(root));
    std::error_code code;
    std::map<std::pair<dev_t, ino_t>, std::string> placed;
    fs::directory_iterator entries(programs, code);
    if (code) return Error(Reason::Io, "the directory of Windows programs " + programs + " cannot be read: " + code.message());
    for (const auto& entry : entries) {
        const std::string folder = folder_of(entry.path());
        struct stat status{};
        if (folder.empty() || ::stat(entry.path().c_str(), &status) != 0) continue;
        const std::string target = join_path(join_path(drive, folder), entry.path().filename().string());
        const auto known = placed.find({status.st_dev, status.st_ino});
        if (!is_current(tree, status, target)) {
            TRY_VOID(tree.create_directories(parent_path(target), 0755));
            auto done = tree.copy_in(entry.path().string(), target, known == placed.end() ? "" : known->second);
            if (!done) return std::move(done).error().with_context("placing " + entry.path().filename().string() + " on the emulated host");
        }
        placed.try_emplace({status.st_dev, status.st_ino}, target);
    }
    return {};
}

}  // namespace porthole::winhost
