#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "winhost/images/content/byte_source.h"

namespace porthole::winhost {

/// Where a layer is unpacked to, and what is below it.
struct LayerJob {
    std::string folder;               ///< to fill; exists and is empty
    std::string drive_path;           ///< where C:\ is below every root
    std::vector<std::string> lowers;  ///< roots of the image's layers below this one, topmost first
    std::vector<std::string> template_lowers;
};

/// What became of a layer.
struct LayerOutcome {
    /// The layer is a part of Windows itself; `folder` holds nothing that counts.
    bool is_base = false;
    /// Files that would have replaced or removed the template's own below C:\Windows, and links to other drives.
    std::size_t left_out = 0;
};

/// Unpacks the tar file of a Windows layer for overlayfs. Files below `Files/` go below the drive path; a name that a lower layer has is
/// spelled as there. A hidden name becomes a character device 0:0, and an opaque folder gets overlayfs' attribute. Registry hives and the
/// utility VM's files are skipped. Nothing outside `folder` is ever written, also for names with "..", links, and paths through links.
/// Blocking; needs the right to create device files only for layers that hide something.
/// Errors: Invalid (says which entry), Io.
Result<LayerOutcome> unpack_layer(ByteSource& tar, const LayerJob& job);

/// Where a link found in `folder` ("app/data") leads, as a relative Linux path; nullopt for another drive or volume. Windows' forms
/// ("C:\x", "\x", "..\x", "\\?\C:\x") and Linux' are understood. Error: Invalid when it leaves the drive.
Result<std::optional<std::vector<std::string>>> resolve_windows_link(const std::vector<std::string>& folder, std::string target);

}  // namespace porthole::winhost
