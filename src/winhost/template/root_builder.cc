#include "winhost/template/root_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "winhost/template/error_texts.h"
#include "winhost/template/pe_exports.h"
#include "winhost/template/pe_image.h"
#include "winhost/template/registry_edits.h"
#include "winhost/tools/programs.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// Programs of which Wine has only a shell that succeeds without doing anything.
constexpr const char* Pretenders[] = {
    "arp",     "aspnet_regiis",   "cacls", "certutil",   "dism",   "fc",         "findstr",  "icacls",   "mofcomp",
    "mshta",   "netsh",           "ngen",  "powershell", "regasm", "regini",     "regsvcs",  "robocopy", "sdbinst",
    "secedit", "servicemodelreg", "setx",  "shutdown",   "subst",  "systeminfo", "tasklist", "wevtutil", "where"};
/// Programs that show a desktop, or are started on their own by parts of Wine in order to show one.
constexpr const char* DesktopPrograms[] = {"explorer", "iexplore", "notepad",     "oleview",  "progman", "taskmgr",  "uninstaller",
                                           "wordpad",  "write",    "winebrowser", "winecfg",  "winedbg", "winefile", "winemenubuilder",
                                           "winemine", "winhlp32", "winver",      "wmplayer", "dxdiag",  "hh",       "msinfo32",
                                           "control"};

/// What Wine lacks, or has with less in it than a container needs.
struct OwnProgram {
    std::string_view name, Programs::*program;
};
constexpr OwnProgram OwnPrograms[] = {{"ipconfig", &Programs::ipconfig}, {"tar", &Programs::tar}, {"whoami", &Programs::whoami}};

/// Functions that wine_supplement.dll has, and the DLLs in which programs look for them.
struct Supplemented {
    std::string_view dll;
    std::vector<std::string_view> functions;
};
const Supplemented SupplementedDlls[] = {
    {"advapi32.dll", {"DeregisterEventSource", "RegisterEventSourceA", "RegisterEventSourceW", "ReportEventA", "ReportEventW"}},
    {"crypt32.dll", {"CertCreateCertificateChainEngine"}},
    {"iphlpapi.dll", {"GetAdaptersAddresses", "GetAnycastIpAddressTable"}},
    {"kernel32.dll",
     {"CreateNamedPipeW", "GetFileInformationByHandleEx", "GetProcessGroupAffinity", "QueryInformationJobObject", "VirtualAllocEx"}},
    {"ntdll.dll", {"NtFlushBuffersFileEx"}},
    {"propsys.dll", {"VariantToString"}},
    {"shell32.dll", {"IsUserAnAdmin"}},
    {"wevtapi.dll",
     {"EvtOpenChannelConfig", "EvtOpenChannelEnum", "EvtOpenLog", "EvtOpenPublisherEnum", "EvtOpenPublisherMetadata", "EvtQuery",
      "EvtSubscribe"}}};

Error io(const std::string& doing, const std::error_code& code) { return Error(Reason::Io, doing + ": " + code.message()); }

Result<std::string> read(const fs::path& path) {
    std::error_code code;
    std::string content(fs::file_size(path, code), '\0');
    std::ifstream file(path, std::ios::binary);
    if (code || !file.read(content.data(), static_cast<std::streamsize>(content.size())))
        return Error(Reason::Io, "reading " + path.string() + " failed");
    return content;
}

Result<void> write(const fs::path& path, std::string_view content, bool executable = false) {
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) return Error(Reason::Io, "writing " + path.string() + " failed");
    fs::permissions(path, executable ? fs::perms(0755) : fs::perms(0644), code);
    return {};
}

/// What is at `path` in the tree `from`, to the same place below `root`. Links are followed, but not out of `from`: those of another system
/// are not about this machine. Times are kept (Wine compares wine.inf's with the prefix').
Result<void> copy_into(const fs::path& from, const fs::path& path, const fs::path& root) {
    const fs::path source = from / path.relative_path(), target = root / path.relative_path();
    std::error_code code;
    fs::create_directories(target.parent_path(), code);
    const fs::path tree = fs::canonical(from, code), real = code ? fs::path() : fs::canonical(source, code);
    if (code) return io("copying " + source.string(), code);
    if (std::ranges::mismatch(tree, real).in1 != tree.end())
        return Error(Reason::Io, source.string() + " leads out of " + from.string() + ", to " + real.string());
    fs::copy_file(real, target, fs::copy_options::overwrite_existing, code);
    if (code) return io("copying " + source.string(), code);
    struct stat status{};
    if (::stat(real.c_str(), &status) == 0) {
        const timespec times[] = {status.st_atim, status.st_mtim};
        ::utimensat(AT_FDCWD, target.c_str(), times, 0);
    }
    return {};
}

Result<void> copy_folder(const fs::path& from, const fs::path& folder, const fs::path& root) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(from / folder.relative_path(), code))
        if (entry.is_regular_file(code)) {
            TRY_VOID(copy_into(from, folder / entry.path().filename(), root));
        }
    return {};
}

/// All libraries of a Wine root. Names that are links to a file next to them stay links.
Result<void> copy_libraries(const WineInstallation& wine, const fs::path& root) {
    for (const std::string& library : wine.libraries_of_root()) {
        std::error_code code;
        const fs::path next = fs::read_symlink(wine.at(library), code);
        if (code || next.has_parent_path()) {
            TRY_VOID(copy_into(wine.root, library, root));
            continue;
        }
        const fs::path target = root / fs::path(library).relative_path();
        fs::create_directories(target.parent_path(), code);
        fs::create_symlink(next, target, code);
        if (code) return io("linking " + library, code);
    }
    return {};
}

/// The paths in what ldd prints: "name => /path (address)" and "/path (address)".
std::set<std::string> library_paths(const std::string& ldd_output) {
    std::set<std::string> paths;
    std::istringstream lines(ldd_output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t start = line.find('/'), end = line.find(" (", start == line.npos ? 0 : start);
        if (start != line.npos && end != line.npos && line[0] == '\t') paths.insert(line.substr(start, end - start));
    }
    return paths;
}

/// Where Wine is made to differ from what it is; DLLs of 32 bits stay as they are.
void change_dll(const std::string& name, std::string& image) {
    if (name == "kernelbase.dll") {
        correct_default_control_handler(image);
        hide_placeholders(image);
        use_windows_error_texts(image);
    }
    if (name == "ntdll.dll") limit_stack_clearing(image);
    const auto supplemented = std::ranges::find(SupplementedDlls, name, &Supplemented::dll);
    if (supplemented == std::end(SupplementedDlls)) return;
    // A Wine whose DLL has no room for it still runs all programs that can do without.
    if (auto forwarding = forward_exports(image, supplemented->functions, "wine_supplement")) image = *std::move(forwarding);
}

/// The DLLs and programs of `architecture`, "x86_64" or "i386".
Result<void> copy_windows_files(const WineInstallation& wine, const std::string& architecture, const fs::path& root) {
    std::error_code code;
    const fs::path folder = fs::path(WineInstallation::Dlls) / (architecture + "-windows");
    for (const auto& entry : fs::directory_iterator(wine.at(folder.string()), code)) {
        const std::string name = entry.path().stem().string();
        const bool program = entry.path().extension() == ".exe";
        const auto is_in = [&](const auto& list) { return std::find(std::begin(list), std::end(list), name) != std::end(list); };
        const bool own = std::ranges::find(OwnPrograms, name, &OwnProgram::name) != std::end(OwnPrograms);
        if (program && (own || is_in(Pretenders) || is_in(DesktopPrograms))) continue;
        if (!entry.is_regular_file(code) || entry.is_symlink(code)) continue;
        TRY(std::string image, read(entry.path()));
        TRY(image, strip_debug_sections(std::move(image)));
        if (architecture == "x86_64") change_dll(entry.path().filename().string(), image);
        TRY_VOID(write(root / folder.relative_path() / entry.path().filename(), image));
    }
    return {};
}

Result<void> write_settings(const fs::path& root) {
    TRY_VOID(write(root / "etc/passwd", "ContainerAdministrator:x:0:0::/wine:/bin/false\n"));
    TRY_VOID(write(root / "etc/group", "root:x:0:\n"));
    TRY_VOID(write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"));
    TRY_VOID(write(root / "etc/hosts", "127.0.0.1 localhost\n"));
    TRY_VOID(write(root / "etc/resolv.conf", ""));
    return write(root / "etc/fonts/fonts.conf",
                 "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"urn:fontconfig:fonts.dtd\">\n"
                 "<fontconfig><cachedir>/tmp/fontconfig</cachedir></fontconfig>\n");
}

Result<void> write_helpers(const fs::path& root) {
    TRY_VOID(write(root / "porthole/init", programs().init, true));
    TRY_VOID(write(root / "porthole/launch.exe", programs().launch, true));
    TRY_VOID(write(root / "porthole/host.exe", programs().host, true));
    // Wine's own programs may need it already while they make the prefix.
    TRY_VOID(write(root / "wine/drive_c/windows/system32/wine_supplement.dll", programs().wine_supplement));
    return write(root / "porthole/pipes.exe", programs().pipes, true);
}

/// The profile's own folders: Wine makes them links out of the prefix.
Result<void> replace_links(const fs::path& folder) {
    std::error_code code;
    std::vector<fs::path> links;
    for (const auto& entry : fs::recursive_directory_iterator(folder, code))
        if (entry.is_symlink(code)) links.push_back(entry.path());
    for (const fs::path& link : links) {
        fs::remove(link, code);
        fs::create_directory(link, code);
        if (code) return io("replacing " + link.string(), code);
    }
    return {};
}

Result<void> write_programs(const fs::path& system) {
    for (const char* name : Pretenders) {
        const fs::path folder = std::string_view(name) == "powershell" ? system / "WindowsPowerShell/v1.0" : system;
        TRY_VOID(write(folder / (std::string(name) + ".exe"), programs().absent, true));
    }
    for (const OwnProgram& own : OwnPrograms) TRY_VOID(write(system / (std::string(own.name) + ".exe"), programs().*own.program, true));
    return {};
}

/// Programs that stay out: taken away, or replaced by one that says so.
Result<void> replace_programs(const fs::path& drive) {
    std::error_code code;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(drive, code))
        if (entry.path().extension() == ".exe") files.push_back(entry.path());
    for (const fs::path& file : files) {
        const std::string name = file.stem().string();
        const auto is_in = [&](const auto& list) { return std::find(std::begin(list), std::end(list), name) != std::end(list); };
        if (is_in(DesktopPrograms)) fs::remove(file, code);
    }
    // Programs of 32 bits find those of 64 in syswow64, too.
    for (const char* folder : {"windows/system32", "windows/syswow64"})
        if (fs::exists(drive / folder, code)) TRY_VOID(write_programs(drive / folder));
    return write(drive / "windows/system32/bcryptprimitives.dll", programs().bcryptprimitives);
}

/// Wine's own gets another name, also where Wine looks for its originals, which it prefers to what stands in system32. Its part on Linux
/// has both: that of 32 bits, in front of which there is none, looks for it under its own name.
Result<void> put_in_front_of_winsock(const fs::path& originals, const fs::path& system) {
    std::error_code code;
    for (const fs::path& place : {originals / "x86_64-windows/ws2_32.dll", system / "ws2_32.dll"}) {
        fs::rename(place, place.parent_path() / ("wine_" + place.filename().string()), code);
        if (code) return io("renaming " + place.string(), code);
    }
    fs::create_hard_link(originals / "x86_64-unix/ws2_32.so", originals / "x86_64-unix/wine_ws2_32.so", code);
    if (code) return io("linking ws2_32.so", code);
    return write(system / "ws2_32.dll", programs().ws2_32);
}

/// Wine has copied its DLLs into the prefix: the copies become links to the originals.
Result<void> share_files(const fs::path& originals, const fs::path& windows) {
    std::error_code code;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(windows, code))
        if (entry.is_regular_file(code)) files.push_back(entry.path());
    for (const fs::path& file : files) {
        const fs::path original = originals / file.filename();
        if (!fs::exists(original, code) || fs::file_size(original, code) != fs::file_size(file, code)) continue;
        TRY(const std::string one, read(original));
        TRY(const std::string other, read(file));
        if (one != other) continue;
        fs::remove(file, code);
        fs::create_hard_link(original, file, code);
        if (code) return io("linking " + file.string(), code);
    }
    return {};
}

/// After the prefix is made, so that the zone stands in its registry. Wine has copied the DLL into it.
Result<void> leave_zone_as_it_is(const fs::path& originals, const fs::path& system) {
    for (const fs::path& place : {originals / "x86_64-windows/kernelbase.dll", system / "kernelbase.dll"}) {
        TRY(std::string image, read(place));
        if (leave_out_time_zone(image)) TRY_VOID(write(place, image));
    }
    return {};
}

Result<void> edit_registry(const fs::path& prefix, const fs::path& template_folder) {
    TRY(const std::string system_text, read(prefix / "system.reg"));
    TRY(RegistryFile system, RegistryFile::parse(system_text));
    trim_system(system);
    TRY_VOID(write(prefix / "system.reg", system.text()));
    TRY(const std::string user_text, read(prefix / "user.reg"));
    TRY(RegistryFile user, RegistryFile::parse(user_text));
    trim_user(user, "C:\\users\\ContainerAdministrator\\AppData\\Local\\Temp");
    TRY_VOID(write(prefix / "user.reg", user.text()));
    for (const HostProfile& profile : host_profiles()) {
        RegistryFile own = system;
        apply_profile(own, profile);
        TRY_VOID(write(template_folder / ("profile-" + profile.name) / "wine/system.reg", own.text()));
    }
    return {};
}

/// ContainerUser: the same user to Linux under another name, with a profile of its own.
Result<void> make_contained_user(const fs::path& prefix, const fs::path& folder) {
    constexpr std::string_view From = "ContainerAdministrator", To = "ContainerUser";
    std::error_code code;
    for (const char* name : {"user.reg", "userdef.reg"}) {
        TRY(std::string text, read(prefix / name));
        for (std::size_t at = 0; (at = text.find(From, at)) != text.npos; at += To.size()) text.replace(at, From.size(), To);
        TRY_VOID(write(folder / "wine" / name, text));
    }
    TRY_VOID(write(folder / "etc/passwd", std::string(To) + ":x:0:0::/wine:/bin/false\n"));
    const fs::path users = folder / "wine/drive_c/users";
    fs::create_directories(users, code);
    fs::copy(prefix / "drive_c/users" / From, users / To, fs::copy_options::recursive, code);
    if (code) return io("making the profile of ContainerUser", code);
    return {};
}

}  // namespace

Result<void> copy_installation(const WineInstallation& wine, const std::string& ldd_output, const std::string& root) {
    std::error_code code;
    const fs::path base = root;
    for (const char* folder : {"usr/lib", "usr/lib64", "dev", "proc", "sys", "tmp", "run", "wine", "etc", ".ph"})
        fs::create_directories(base / folder, code);
    fs::create_directory_symlink("usr/lib", base / "lib", code);
    fs::create_directory_symlink("usr/lib64", base / "lib64", code);
    if (code) return io("preparing " + root, code);
    const fs::path from = wine.is_machines() ? "/" : wine.root, data = WineInstallation::Data;
    if (wine.is_machines()) {
        for (const std::string& file : wine.linked_files()) TRY_VOID(copy_into(from, file, base));
        for (const std::string& library : library_paths(ldd_output)) TRY_VOID(copy_into(from, library, base));
    } else {
        for (const std::string_view file : {WineInstallation::Loader, WineInstallation::Server}) TRY_VOID(copy_into(from, file, base));
        TRY_VOID(copy_folder(from, fs::path(WineInstallation::Dlls) / "x86_64-unix", base));
        TRY_VOID(copy_libraries(wine, base));
    }
    TRY_VOID(copy_windows_files(wine, "x86_64", base));
    if (wine.has_32_bit_dlls()) TRY_VOID(copy_windows_files(wine, "i386", base));
    TRY_VOID(copy_folder(from, data / "nls", base));
    TRY_VOID(copy_folder(from, data / "fonts", base));
    TRY_VOID(copy_into(from, data / "wine.inf", base));
    TRY_VOID(copy_folder(from, "/usr/lib/locale/C.utf8", base));
    TRY_VOID(copy_folder(from, "/usr/lib/locale/C.utf8/LC_MESSAGES", base));
    if (fs::exists("/etc/ssl/certs/ca-certificates.crt", code)) {
        TRY_VOID(copy_into("/", "/etc/ssl/certs/ca-certificates.crt", base));
    }
    TRY_VOID(write_settings(base));
    return write_helpers(base);
}

Result<void> finish_prefix(const WineInstallation& wine, const std::string& root, const std::string& template_folder) {
    const fs::path base = root, prefix = base / "wine", drive = prefix / "drive_c";
    std::error_code code;
    for (const char* name : {"wineserver", "dosdevices/z:", "dosdevices/com1", "dosdevices/com2", "dosdevices/com3", "dosdevices/com4"})
        fs::remove_all(prefix / name, code);
    TRY_VOID(replace_links(drive / "users"));
    const fs::path profile = drive / "users/ContainerAdministrator";
    fs::rename(profile / "Temp", profile / "AppData/Local/Temp", code);
    if (code && !fs::exists(profile / "AppData/Local/Temp")) return io("moving the temporary directory", code);
    TRY_VOID(replace_programs(drive));
    const fs::path originals = base / fs::path(WineInstallation::Dlls).relative_path();
    TRY_VOID(put_in_front_of_winsock(originals, drive / "windows/system32"));
    TRY_VOID(leave_zone_as_it_is(originals, drive / "windows/system32"));
    TRY_VOID(share_files(originals / "x86_64-windows", drive / "windows"));
    if (wine.has_32_bit_dlls()) TRY_VOID(share_files(originals / "i386-windows", drive / "windows/syswow64"));
    TRY_VOID(edit_registry(prefix, template_folder));
    TRY_VOID(make_contained_user(prefix, fs::path(template_folder) / "contained-user"));
    const fs::path sandbox = fs::path(template_folder) / "sandbox";
    for (const char* folder : {"dev", "proc", ".ph"}) fs::create_directories(sandbox / folder, code);
    return write(sandbox / "porthole/init", programs().init, true);
}

}  // namespace porthole::winhost
