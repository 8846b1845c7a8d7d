#pragma once  // private to this folder
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// A Wine and its libraries, where Debian's packages put them: those of this machine, or those in a Wine root, which is a directory with
/// the unpacked packages of another release (packaging/wine_root.py makes one). Nothing of a Wine root runs outside of containers.
struct WineInstallation {
    std::string root;  ///< the Wine root, an absolute path; "" for this machine

    // Paths in it.
    static constexpr std::string_view Loader = "/usr/lib/wine/wine64", Server = "/usr/lib/wine/wineserver64";
    static constexpr std::string_view SharedLibraries = "/usr/lib/x86_64-linux-gnu", ProgramLoader = "/usr/lib64/ld-linux-x86-64.so.2";
    static constexpr std::string_view Dlls = "/usr/lib/x86_64-linux-gnu/wine";  ///< x86_64-unix, x86_64-windows and maybe i386-windows
    static constexpr std::string_view Data = "/usr/share/wine";

    bool is_machines() const { return root.empty(); }
    /// On this machine.
    std::string at(std::string_view path) const { return root + std::string(path); }
    /// Whether it can run programs of 32 bits: in processes of 64 bits, with DLLs of 32 bits.
    bool has_32_bit_dlls() const;
    /// "10.0"; "unknown" if it does not say so.
    std::string version() const;
    /// Changes when another version is there.
    std::string fingerprint() const;
    /// Errors: NotFound for missing files, with the remedy; of a Wine root also Invalid for one of another kind of machine, and Forbidden
    /// if others can change it.
    Result<void> check() const;

    /// Files of this machine's installation whose shared libraries are needed: the programs and what they load at run time.
    std::vector<std::string> linked_files() const;
    /// The shared libraries in a Wine root, which has no others than are needed.
    std::vector<std::string> libraries_of_root() const;
};

}  // namespace porthole::winhost
