#include "winhost/runtime/container_root.h"

#include <algorithm>

#include "winhost/bundle/overlay.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

constexpr const char* Drive = "wine/drive_c";

/// The place of a mount inside: an empty folder or file as its source is one.
Result<std::string> make_target(FileSystem& files, const std::string& rootfs, const WindowsPath& path, bool folder) {
    std::string drive = join_path(rootfs, Drive);
    if (path.drive != 'c') {
        drive = join_path(rootfs, std::string("wine/drive_") + path.drive);
        TRY_VOID(files.create_directories(drive, 0755));
        const std::string letter = join_path(rootfs, std::string("wine/dosdevices/") + path.drive + ":");
        if (!files.exists(letter)) TRY_VOID(files.create_symlink(std::string("../drive_") + path.drive, letter));
    }
    TRY(const std::string target, locate(files, drive, path.components));
    if (folder) {
        TRY_VOID(files.create_directories(target, 0755));
    } else if (!files.exists(target)) {
        TRY_VOID(files.create_directories(parent_path(target), 0755));
        TRY_VOID(files.write(target, "", 0644));
    }
    return target.substr(rootfs.size());
}

Result<std::string> locate_source(FileSystem& files, const std::string& host_drive, const std::string& host_path) {
    TRY(const WindowsPath path, WindowsPath::parse(host_path));
    if (path.drive != 'c') return Error(Reason::BadRequest, "an emulated host has no drive for the mount of " + host_path);
    TRY(const std::string source, locate(files, host_drive, path.components));
    if (!files.exists(source)) return Error(Reason::NotFound, "the mount's source " + host_path + " does not exist");
    return source;
}

bool is_hosts_file(const std::string& target) {
    std::string lower = target;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
    return lower == "/wine/drive_c/windows/system32/drivers/etc/hosts";
}

Result<void> add_mount(FileSystem& files, const RootRequest& request, const cri::Mount& wanted, std::vector<OciMount>& mounts) {
    if (is_pipe_path(wanted.host_path)) return {};  // pipe_relay.h
    TRY(const std::string found, locate_source(files, request.host_drive, wanted.host_path));
    TRY(const WindowsPath path, WindowsPath::parse(wanted.container_path));
    if (path.components.empty() && path.drive == 'c') return Error(Reason::BadRequest, "nothing can be mounted over C:\\");
    // The source is opened and bound to a place of our own. runc binds by path, some time later: by then another container that may
    // write to the volume could have put a link to anywhere on this machine in the source's place.
    TRY(const std::string drive, files.real_path(request.host_drive));
    TRY(const std::string real, files.real_path(found));
    TRY(const HeldSource held, HeldSource::open(drive, real));
    const std::string source = request.folder.source(mounts.size());
    if (held.is_directory()) {
        TRY_VOID(files.create_directories(source, 0700));
    } else {
        TRY_VOID(files.create_directories(parent_path(source), 0700));
        TRY_VOID(files.write(source, "", 0600));
    }
    TRY_VOID(held.bind_to(source));
    TRY(const std::string target, make_target(files, request.folder.rootfs(), path, held.is_directory()));
    mounts.push_back({source, target, wanted.readonly});
    if (is_hosts_file(target)) mounts.push_back({source, "/etc/hosts", wanted.readonly});
    return {};
}

}  // namespace

Result<std::vector<OciMount>> prepare_root(FileSystem& files, const RootRequest& request) {
    for (const std::string& folder : {request.folder.upper(), request.folder.work(), request.folder.rootfs()})
        TRY_VOID(files.create_directories(folder, 0755));
    std::vector<std::string> lowers = request.container.lower_folders;
    lowers.insert(lowers.end(), request.template_lowers.begin(), request.template_lowers.end());
    TRY_VOID(mount_overlay(lowers, request.folder.upper(), request.folder.work(), request.folder.rootfs()));
    std::vector<OciMount> mounts = {{request.folder.exchange(), "/.ph"},
                                    {request.sandbox_folder.hosts(), "/etc/hosts"},
                                    {request.sandbox_folder.resolv_conf(), "/etc/resolv.conf"}};
    std::vector<cri::Mount> wanted = request.container.config.mounts;
    std::sort(wanted.begin(), wanted.end(),
              [](const auto& a, const auto& b) { return a.container_path < b.container_path; });  // outer ones first
    for (const cri::Mount& mount : wanted) TRY_VOID(add_mount(files, request, mount, mounts));
    return mounts;
}

Result<std::string> log_file(FileSystem& files, const ContainerRecord& container, const SandboxRecord& sandbox,
                             const std::string& host_drive) {
    if (sandbox.config.log_directory.empty() || container.config.log_path.empty()) return std::string();
    TRY(const WindowsPath path, WindowsPath::parse(sandbox.config.log_directory + "\\" + container.config.log_path));
    TRY(const std::string file, locate(files, host_drive, path.components));
    TRY_VOID(files.create_directories(parent_path(file), 0755));
    return file;
}

std::map<std::string, std::string> wine_environment(bool light) {
    return {{"WINEPREFIX", "/wine"},
            {"HOME", "/wine"},
            {"WINEDEBUG", "-all"},
            {"LANG", "C.UTF-8"},
            {"WINESERVER", "/usr/lib/wine/wineserver64"},
            {"WINEDLLOVERRIDES", std::string("mscoree,mshtml,winemenubuilder.exe,explorer.exe") + (light ? ",services.exe=" : "=")}};
}

}  // namespace porthole::winhost
