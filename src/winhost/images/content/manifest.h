#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "winhost/images/content/image.h"
#include "winhost/images/content/os_version.h"

namespace porthole::winhost {

/// The hosts that an entry of a manifest list is for.
struct Platform {
    std::string architecture, os, os_version;  ///< os_version as written; may be empty
    std::string text() const;                  ///< "windows/amd64 10.0.20348.2113"
};

/// A manifest's description of a blob.
struct Descriptor {
    std::string media_type;
    std::string digest;  ///< "sha256:" and 64 hexadecimal digits; others are refused
    std::uint64_t size = 0;
    std::vector<std::string> urls;
    std::optional<Platform> platform;
    std::string name;  ///< its name in an archive's index; "" elsewhere

    bool is_index() const;
    bool is_manifest() const;
    /// A layer that registries do not store: Windows' own base, in older images.
    bool is_foreign() const;
};

/// A manifest list (an OCI index), one manifest, or both in neither: `layers` is empty for a list.
struct Manifest {
    bool is_index = false;
    std::vector<Descriptor> manifests;
    Descriptor config;
    std::vector<Descriptor> layers;
};

/// The configuration of an image, with the digests of its layers.
struct ImageDescription {
    ImageConfig config;
    std::vector<std::string> diff_ids;
    /// How many layers, from the bottom, its history calls parts of Windows itself.
    std::size_t base_layers = 0;
};

constexpr std::size_t ManifestLimit = 4 << 20;
constexpr std::size_t ConfigLimit = 8 << 20;
constexpr std::size_t LayersLimit = 1000;

/// Docker's schema 2 and OCI. Error: Invalid.
Result<Manifest> parse_manifest(std::string_view text);
/// Error: Invalid.
Result<ImageDescription> parse_image_config(std::string_view text);

/// The host that images must fit.
struct HostPlatform {
    OsVersion version;
    std::string architecture = "amd64";
    std::string text() const { return "windows/" + architecture + " " + version.text(); }
};

/// Chooses the entry that the host's containerd would choose: system and processor must be equal, the build must be one that can run. The
/// host's own build is preferred to older ones, a higher revision to a lower one, and an entry without a version comes last. Error:
/// NotFound, with the available ones.
Result<Descriptor> choose_manifest(const Manifest& list, const HostPlatform& host);
/// Error: Invalid with both sides named.
Result<void> check_platform(const ImageConfig& config, const HostPlatform& host);

}  // namespace porthole::winhost
