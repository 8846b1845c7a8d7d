#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "winhost/images/content/byte_source.h"

namespace porthole::winhost {

/// The directory for unpacking a layer, and the directories below it.
struct LayerJob {
    std::string folder;               ///< to fill; exists and is empty
    std::string drive_path;           ///< where C:\ is below every root
    std::vector<std::string> lowers;  ///< roots of the image's layers below this one, topmost first
    std::vector<std::string> template_lowers;
    bool is_whole_image = false;         ///< there is no other layer: if Windows itself is in it, all but C:\Windows is unpacked
    std::size_t most_names = 2'000'000;  ///< of the layer and of the folders below it that it changes: they are held in memory
};

/// The result of unpacking a layer.
struct LayerOutcome {
    /// The layer is a part of Windows itself; the content of `folder` is not used.
    bool is_base = false;
    /// Files that would have replaced or removed the template's own below C:\Windows, links to other drives, and hives that are too large.
    std::size_t left_out = 0;
};

/// Unpacks the tar file of a Windows layer for overlayfs. Files below `Files/` are placed below the drive path; a name that exists in a
/// lower layer gets its spelling there. A hidden name becomes a character device 0:0, and an opaque directory gets overlayfs' attribute.
/// The registry hives that image.h names are kept as they are; other hives and the utility VM's files are skipped. Nothing outside `folder`
/// is ever written, even for names with "..", links, and paths through links. Blocking; needs the right to create device files only for
/// layers that hide something. Errors: Invalid (names the entry), Io.
Result<LayerOutcome> unpack_layer(ByteSource& tar, const LayerJob& job);

/// The target of a link found in `folder` ("app/data"), as a relative Linux path; nullopt for another drive or volume. Windows' forms
/// ("C:\x", "\x", "..\x", "\\?\C:\x") and Linux' are supported. Error: Invalid if it leaves the drive.
Result<std::optional<std::vector<std::string>>> resolve_windows_link(const std::vector<std::string>& folder, std::string target);

}  // namespace porthole::winhost
