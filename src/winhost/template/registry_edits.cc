#include "winhost/template/registry_edits.h"

namespace porthole::winhost {
namespace {

constexpr const char* CurrentVersion = "Software\\Microsoft\\Windows NT\\CurrentVersion";

/// What stays is the mount manager and nsiproxy: without them GetAdaptersAddresses and ICMP fail.
constexpr const char* DisabledServices[] = {"BITS",    "Eventlog", "FontCache",   "LanmanServer", "NDIS",    "PlugPlay", "Schedule",
                                            "Spooler", "StiSvc",   "TermService", "winebus",      "winehid", "wineusb",  "wuauserv"};

/// Wine starts the drivers of these devices although they are disabled: input devices of a desktop, and a process for them.
constexpr const char* UnwantedDevices[] = {"HID", "ROOT\\WINE", "WINEBUS"};

}  // namespace

void trim_system(RegistryFile& system) {
    for (const char* service : DisabledServices)
        system.set("System\\CurrentControlSet\\Services\\" + std::string(service), "Start", RegistryFile::number(4));
    for (const char* device : UnwantedDevices) system.remove_tree("System\\CurrentControlSet\\Enum\\" + std::string(device));
    const std::string debugger = std::string(CurrentVersion) + "\\AeDebug";
    system.set(debugger, "Auto", RegistryFile::quoted("0"));
    system.set(debugger, "Debugger", RegistryFile::quoted(""));
    system.remove_value("Software\\Microsoft\\Windows\\CurrentVersion\\RunServices", "winemenubuilder");
}

void trim_host(RegistryFile& system) {
    for (const char* tree : {"CLSID", "DirectShow", "Interface", "MediaFoundation", "Typelib"})
        system.remove_tree("Software\\Classes\\" + std::string(tree));
}

void trim_user(RegistryFile& user, const std::string& temporary_folder) {
    user.set("Software\\Wine", "ShowDotFiles", RegistryFile::quoted("Y"));
    for (const char* name : {"TEMP", "TMP"}) user.set("Environment", name, RegistryFile::quoted(temporary_folder));
}

void apply_profile(RegistryFile& system, const HostProfile& profile) {
    const auto text = [&](const char* name, const std::string& value) { system.set(CurrentVersion, name, RegistryFile::quoted(value)); };
    const auto number = [&](const char* name, std::uint32_t value) { system.set(CurrentVersion, name, RegistryFile::number(value)); };
    const std::string build = std::to_string(profile.build);
    text("CurrentBuild", build);
    text("CurrentBuildNumber", build);
    number("CurrentMajorVersionNumber", 10);
    number("CurrentMinorVersionNumber", 0);
    // Windows itself has "6.3" here; Wine would then tell programs that it is 6.3.
    text("CurrentVersion", "10.0");
    text("CSDVersion", "");
    number("UBR", profile.update);
    text("ProductName", profile.product_name);
    text("EditionID", "ServerDatacenter");
    text("InstallationType", "Server Core");
    text("ReleaseId", profile.build >= 19042 ? "2009" : profile.release);
    text("DisplayVersion", profile.release);
    system.set("System\\CurrentControlSet\\Control\\ProductOptions", "ProductType", RegistryFile::quoted("ServerNT"));
}

bool says_profile(const RegistryFile& system, const HostProfile& profile) {
    return system.value(CurrentVersion, "ProductName") == RegistryFile::quoted(profile.product_name) &&
           system.value(CurrentVersion, "CurrentBuildNumber") == RegistryFile::quoted(std::to_string(profile.build)) &&
           system.value(CurrentVersion, "UBR") == RegistryFile::number(profile.update);
}

}  // namespace porthole::winhost
