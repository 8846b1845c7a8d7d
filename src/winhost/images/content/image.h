#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace porthole::winhost {

/// How to run an image (the "config" of an OCI image configuration). Everything may be empty.
struct ImageConfig {
    std::string architecture, os;
    std::string os_version;               ///< unparsed; "" if the image has none
    std::vector<std::string> entrypoint;  ///< wire name Entrypoint
    std::vector<std::string> command;     ///< wire name Cmd
    /// entrypoint and command are one finished command line each (shell form): join by a blank, never quote.
    bool args_escaped = false;
    std::vector<std::string> environment;  ///< "NAME=value"
    std::string working_dir;
    std::string user;  ///< "ContainerAdministrator", "ContainerUser"
    std::map<std::string, std::string> labels;
    std::vector<std::string> exposed_ports;  ///< "80/tcp"
    std::vector<std::string> volumes;        ///< "c:\\data"
    std::string stop_signal;
};

/// An image that is complete on this node.
struct Image {
    std::string id;                         ///< digest of its configuration: "sha256:…"; CRI's image id
    std::vector<std::string> repo_tags;     ///< "registry:5000/app:1", sorted; may be empty
    std::vector<std::string> repo_digests;  ///< "registry:5000/app@sha256:…", sorted; may be empty
    std::uint64_t size = 0;                 ///< bytes of its layers as transferred
    ImageConfig config;
    bool pinned = false;  ///< never a candidate for image garbage collection
    /// Layers of Microsoft's operating system were left out: the host's template is used instead.
    bool base_substituted = false;
    /// One directory per layer, topmost first, in overlayfs' order of `lowerdir`; the template's directories follow them. Empty for an
    /// image that consists only of its base. Each contains C:\ under Options::drive_path, with names in the template's spelling, and the
    /// layer's registry hives, unread, in HivesFolder.
    std::vector<std::string> lower_folders;
};

inline constexpr const char* HivesFolder = "hives";
/// Those that are kept of a layer. The others hold accounts and secrets.
inline constexpr const char *SoftwareHive = "Software_Delta", *SystemHive = "System_Delta", *DefaultUserHive = "DefaultUser_Delta";
/// A larger hive is left out.
inline constexpr std::uint64_t LargestHive = std::uint64_t{64} << 20;

}  // namespace porthole::winhost
