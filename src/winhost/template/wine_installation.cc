#include "winhost/template/wine_installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "winhost/template/wine_files.h"
#include "winhost/tools/programs.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// Loaded by name while Wine runs; those that are not installed are left out. FreeType without fontconfig would be an endless storm of
/// processes, so one never comes without the other.
constexpr const char* LoadedLater[] = {"libgcc_s.so.1",     "libgnutls.so.30", "libfontconfig.so.1", "libfreetype.so.6",
                                       "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"};
constexpr std::string_view WindowsFile = "/x86_64-windows/ntdll.dll", UnixFile = "/x86_64-unix/ntdll.so";

std::string in_dlls(std::string_view file) { return std::string(WineInstallation::Dlls) + std::string(file); }
std::string information_file() { return std::string(WineInstallation::Data) + "/wine.inf"; }

/// The beginning of a file; "" for one that cannot be read.
std::string beginning_of(const std::string& path, std::size_t size) {
    std::ifstream file(path, std::ios::binary);
    std::string content(size, '\0');
    file.read(content.data(), static_cast<std::streamsize>(size));
    content.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return content;
}

/// The programs of the root are not of this machine's package manager, so that who may change them is looked at.
Result<void> check_owner(const std::string& root) {
    struct stat status{};
    if (::stat(root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return Error(Reason::NotFound, "there is no Wine root " + root + ": make one with packaging/wine_root.py " + root);
    const bool own = status.st_uid == 0 || status.st_uid == ::geteuid();
    if (own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return Error(Reason::Forbidden, "others than root can change the Wine root " + root + ": chown -R root and chmod -R go-w it");
}

/// Libraries that fit the loader's names: not the directories of Wine, of gconv and others.
bool is_library(const fs::directory_entry& entry) {
    std::error_code code;
    return entry.path().filename().string().contains(".so") && entry.is_regular_file(code);  // also a link to one
}

void append_status(std::string& text, const std::string& path) {
    struct stat status{};
    ::stat(path.c_str(), &status);
    text += "|" + path + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec);
}

}  // namespace

bool WineInstallation::has_32_bit_dlls() const {
    std::error_code code;
    return fs::exists(at(in_dlls("/i386-windows/ntdll.dll")), code);
}

std::string WineInstallation::version() const { return version_in(beginning_of(at(information_file()), 512)); }

std::string WineInstallation::fingerprint() const {
    std::string text = "15" + root;  // of the way it is built
    for (const std::string& path :
         {std::string(Loader), std::string(Server), in_dlls(WindowsFile), in_dlls("/x86_64-windows/kernelbase.dll"), in_dlls(UnixFile),
          in_dlls("/i386-windows/ntdll.dll"), information_file()})
        append_status(text, at(path));
    for (const std::string& library : libraries_of_root()) append_status(text, at(library));
    const Programs& own = programs();
    for (const std::string_view program : {own.init, own.launch, own.host, own.pipes, own.absent, own.tar, own.ipconfig, own.whoami,
                                           own.bcryptprimitives, own.ws2_32, own.wine_supplement})
        text += content_hash(program);
    return content_hash(text);
}

Result<void> WineInstallation::check() const {
    std::error_code code;
    if (!is_machines()) TRY_VOID(check_owner(root));
    std::vector<std::string> needed = {std::string(Loader), std::string(Server), in_dlls(WindowsFile), in_dlls(UnixFile),
                                       information_file()};
    if (!is_machines()) needed.emplace_back(ProgramLoader);
    for (const std::string& path : needed) {
        if (fs::exists(at(path), code)) continue;
        if (is_machines()) return Error(Reason::NotFound, "emulated Windows hosts need Wine (" + path + " is missing): apt install wine64");
        return Error(Reason::NotFound, "the Wine root " + root + " has no " + path + ": make one with packaging/wine_root.py");
    }
    for (const std::string& path : {std::string(Loader), std::string(Server), in_dlls(UnixFile), std::string(ProgramLoader)})
        if (!is_machines() && !is_for_this_machine(beginning_of(at(path), ElfHeaderSize)))
            return Error(Reason::Invalid, "the Wine root " + root + " is not for this machine: " + path + " is not a program of x86-64");
    return {};
}

std::vector<std::string> WineInstallation::linked_files() const {
    std::vector<std::string> files = {std::string(Loader), std::string(Server)};
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(in_dlls("/x86_64-unix"), code)) files.push_back(entry.path().string());
    for (const char* name : LoadedLater) {
        const std::string path = std::string(SharedLibraries) + "/" + name;
        if (fs::exists(path, code)) files.push_back(path);
    }
    return files;
}

std::vector<std::string> WineInstallation::libraries_of_root() const {
    if (is_machines()) return {};
    std::vector<std::string> files = {std::string(ProgramLoader)};
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(at(SharedLibraries), code))
        if (is_library(entry)) files.push_back(std::string(SharedLibraries) + "/" + entry.path().filename().string());
    std::ranges::sort(files);
    return files;
}

}  // namespace porthole::winhost
