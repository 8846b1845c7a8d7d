#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "winhost/hives/hive.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {

/// Where a hive belongs.
enum class HivePlace {
    Software,  ///< HKEY_LOCAL_MACHINE\Software
    System,    ///< HKEY_LOCAL_MACHINE\System: only the control set that is current
    User,      ///< a user's own: HKEY_CURRENT_USER, or HKEY_USERS\.Default
};

/// Merges the hives of an image's layers into one of Wine's registry files, as Windows merges the layers' keys and values.
///
/// As with files below C:\Windows, what Wine's registry has itself stays: an image cannot replace or delete it, only what it or a lower
/// layer has added. The exception are environment variables. Left out altogether is what would start something that a container of Windows
/// would not start, or that Wine cannot: drivers, services that Wine has or that svchost.exe hosts, devices, the keys Run and RunOnce, and
/// Wine's own settings. Paths of keys are compared without regard to the case of ASCII letters only.
class HiveMerge {
public:
    explicit HiveMerge(RegistryFile own);

    /// Layers are added from the lowest to the topmost. Error: Invalid if they have together added more than `most_bytes`; what was added
    /// until then stays.
    Result<void> add(HivePlace place, const HiveKey& hive);
    /// Wine's file with all that was added.
    std::string text() const;

    std::size_t most_bytes = std::size_t{32} << 20;

private:
    using Key = RegistryFile::Key;

    /// A key on the way: its path as the file writes it, and in plain lower case for comparison.
    struct Place {
        std::string written, plain;
    };
    Result<void> count(std::size_t bytes);
    Result<void> add_below(const Place& place, const HiveKey& key);
    Result<void> add_key(const Place& place, const HiveKey& key);
    Result<void> add_values(const Place& place, const HiveKey& key);
    bool is_left_out(const Place& place, const HiveKey& key) const;
    const Key* own_key(const std::string& written) const;

    RegistryFile own_;
    std::unordered_map<std::string, std::size_t> own_keys_;  ///< places in own_.keys() by path in lower case
    std::map<std::string, Key> changed_;                     ///< by path in lower case: keys that are new, or have other values
    std::size_t added_ = 0;                                  ///< bytes of paths and values
};

}  // namespace porthole::winhost
