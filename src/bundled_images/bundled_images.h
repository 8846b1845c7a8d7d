#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/processes/process.h"

namespace porthole::bundled_images {

/// A container image that is part of the program.
struct BundledImage {
    const char* name;          ///< with its tag
    std::string_view archive;  ///< OCI, with an entry for Linux and one for each Windows build that is emulated
};

/// The image of every pod sandbox.
inline constexpr const char* PauseImage = "registry.porthole.internal/pause:1";
/// The sample web server. Linux: /web/web (its entrypoint), /web/fetch and /web/check; Windows: C:\web\web.exe,
/// C:\web\fetch.exe and C:\web\gateway.exe.
inline constexpr const char* WebImage = "registry.porthole.internal/web:2";

/// nullptr if the program carries no image of this name.
const BundledImage* find_bundled_image(std::string_view name);

/// How long the import of an archive of that many bytes may take before it counts as stuck: ten minutes, and a second for each MiB. The
/// runtime unpacks it and writes it to the disk.
Duration import_limit(std::uintmax_t bytes);
Duration import_limit(const std::filesystem::path& archive);

/// Imports the image into the containerd at `endpoint` (a path, also with unix://) by containerd's own program ctr: CRI has no call for it.
/// Errors: NotFound without ctr; Io, with ctr's output. `processes` outlives the task.
Task<> import_into_containerd(ProcessRunner& processes, std::string endpoint, BundledImage image);

}  // namespace porthole::bundled_images
