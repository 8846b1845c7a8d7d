#pragma once
#include <string_view>

namespace porthole::winhost {

/// The helper programs of the emulated host, built with Porthole: the bytes of the files.
struct Programs {
    std::string_view init;              ///< for Linux, static: the first process of every container
    std::string_view launch;            ///< starts a Windows program and reports on it
    std::string_view pipes;             ///< named pipes of the host in a container
    std::string_view host;              ///< the emulated host's main program
    std::string_view absent;            ///< replaces programs that Wine has in name only
    std::string_view tar;               ///< Windows has it, Wine does not
    std::string_view ipconfig;          ///< replaces Wine's, which shows no DNS servers
    std::string_view whoami;            ///< replaces Wine's, which shows no groups and privileges
    std::string_view bcryptprimitives;  ///< a DLL that Wine does not have
    std::string_view ws2_32;            ///< a DLL in front of Wine's
    std::string_view wine_supplement;   ///< a DLL to which Wine's forward some functions
};
const Programs& programs();

}  // namespace porthole::winhost
