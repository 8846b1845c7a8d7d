#include "winhost/runtime/container_root.h"

#include <algorithm>

#include "winhost/bundle/held_tree.h"
#include "winhost/bundle/overlay.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

/// The path of something in a container's or host's root file system, from there.
std::string below(const std::string& rootfs, const std::string& path) { return path.substr(std::min(rootfs.size() + 1, path.size())); }

/// The place of a mount inside: an empty folder or file as its source is one.
Result<std::string> make_target(FileSystem& files, const std::string& rootfs, const WindowsPath& path, bool folder) {
    TRY(const HeldTree tree, HeldTree::open(rootfs));
    std::string drive = drive_of(rootfs);
    if (path.drive != 'c') {
        const std::string name = std::string("drive_") + path.drive;
        drive = join_path(rootfs, "wine/" + name);
        TRY_VOID(tree.create_directories("wine/" + name, 0755));
        TRY_VOID(tree.create_symlink("../" + name, std::string("wine/dosdevices/") + path.drive + ":"));
    }
    TRY(const std::string target, locate(files, drive, path.components));
    const std::string inside = below(rootfs, target);
    if (folder) {
        TRY_VOID(tree.create_directories(inside, 0755));
    } else if (!tree.hold(inside)) {
        TRY_VOID(tree.create_directories(parent_path(inside), 0755));
        TRY_VOID(tree.write(inside, "", 0644));
    }
    return "/" + inside;
}

Result<HeldSource> hold_source(FileSystem& files, const std::string& host_root, const std::string& host_path) {
    TRY(const WindowsPath path, WindowsPath::parse(host_path));
    if (path.drive != 'c') return Error(Reason::BadRequest, "an emulated host has no drive for the mount of " + host_path);
    TRY(const std::string source, locate(files, drive_of(host_root), path.components));
    if (!files.exists(source)) return Error(Reason::NotFound, "the mount's source " + host_path + " does not exist");
    TRY(const HeldTree tree, HeldTree::open(host_root));
    return tree.hold(below(host_root, source));
}

/// runc binds by path, some time later: by then another container that may write there could have put a link to anywhere on this machine
/// in the source's place. So what was opened is bound to `place`, which is ours, and runc binds that.
Result<void> bind_held(FileSystem& files, const HeldSource& held, const std::string& place) {
    if (held.is_directory()) {
        TRY_VOID(files.create_directories(place, 0700));
    } else {
        TRY_VOID(files.create_directories(parent_path(place), 0700));
        TRY_VOID(files.write(place, "", 0600));
    }
    return held.bind_to(place);
}

bool is_hosts_file(const std::string& target) {
    std::string lower = target;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
    return lower == "/wine/drive_c/windows/system32/drivers/etc/hosts";
}

Result<void> add_mount(FileSystem& files, const RootRequest& request, const cri::Mount& wanted, std::vector<OciMount>& mounts) {
    if (is_pipe_path(wanted.host_path)) return {};  // pipe_mounts.h
    TRY(const HeldSource held, hold_source(files, request.host_root, wanted.host_path));
    TRY(const WindowsPath path, WindowsPath::parse(wanted.container_path));
    if (path.components.empty() && path.drive == 'c') return Error(Reason::BadRequest, "nothing can be mounted over C:\\");
    const std::string source = request.folder.source(mounts.size());
    TRY_VOID(bind_held(files, held, source));
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
    if (const std::string& registry = request.container.registry_folder; !registry.empty()) lowers.insert(lowers.begin(), registry);
    lowers.insert(lowers.end(), request.template_lowers.begin(), request.template_lowers.end());
    const OverlayFolders layers{.lowers = std::move(lowers), .upper = request.folder.upper(), .work = request.folder.work()};
    TRY_VOID(mount_overlay(layers, request.folder.rootfs(), request.users.owners()));
    std::vector<OciMount> mounts = {{request.folder.exchange(), "/.ph"},
                                    {request.sandbox_folder.hosts(), "/etc/hosts"},
                                    {request.sandbox_folder.resolv_conf(), "/etc/resolv.conf"}};
    std::vector<cri::Mount> wanted = request.container.config.mounts;
    std::sort(wanted.begin(), wanted.end(),
              [](const auto& a, const auto& b) { return a.container_path < b.container_path; });  // outer ones first
    for (const cri::Mount& mount : wanted) TRY_VOID(add_mount(files, request, mount, mounts));
    return mounts;
}

Result<std::string> mount_log(FileSystem& files, const RootRequest& request, std::vector<OciMount>& mounts) {
    const cri::PodSandboxConfig& pod = request.sandbox.config;
    const std::string& log_path = request.container.config.log_path;
    if (pod.log_directory.empty() || log_path.empty()) return std::string();
    TRY(const WindowsPath path, WindowsPath::parse(pod.log_directory + "\\" + log_path));
    TRY(const std::string file, locate(files, drive_of(request.host_root), path.components));
    const std::string folder = parent_path(below(request.host_root, file));
    TRY(const HeldTree tree, HeldTree::open(request.host_root));
    TRY_VOID(tree.create_directories(folder, 0755));
    TRY(const HeldSource held, tree.hold(folder));
    const std::string source = request.folder.source(mounts.size());
    TRY_VOID(bind_held(files, held, source));
    mounts.push_back({source, "/.ph/log"});
    return "/.ph/log/" + base_name(file);
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
