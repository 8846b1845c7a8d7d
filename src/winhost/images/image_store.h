#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"
#include "runtime/worker_pool.h"
#include "winhost/images/content/image.h"
#include "winhost/images/content/os_version.h"
#include "winhost/images/registry/registry_client.h"

namespace porthole::winhost {

/// Windows images on one emulated host: pulls and imports them, keeps their layers as directories for overlayfs, deletes them.
///
/// Layers are unpacked once per (chain of layers, template) because their names are mapped onto the names below them: Windows does not
/// distinguish `App` from `app`, overlayfs does. Base layers of Windows itself are recognized and neither downloaded nor kept; the template
/// takes their place. Owns the directory `root`. Lives on one loop; unpacking and large deletions run in the pool. Interrupted work leaves
/// nothing that counts as an image, and its leftovers on the disk are removed by the next collect_garbage(). Tasks must end before it is
/// destroyed.
class ImageStore {
public:
    struct Options {
        std::string root;  ///< directory of the store; created if missing
        OsVersion host;    ///< the emulated build
        std::string architecture = "amd64";
        std::vector<std::string> template_lowers;  ///< the template's root directories, topmost first; names are mapped onto theirs
        std::string template_id;                   ///< changes with the template: images laid out for another one are forgotten
        std::string drive_path = "wine/drive_c";   ///< where C:\ is below a layer's (and the template's) root; "" if it is the root
        std::vector<std::string> pinned;           ///< references that are pinned once they are there: the sandbox image
    };

    /// Prevents directories from being deleted while it exists.
    using Hold = std::shared_ptr<const void>;

    /// Reads the existing images. Errors: Io; Conflict if another store has the directory open.
    static Result<std::unique_ptr<ImageStore>> open(Options options, EventLoop& loop, WorkerPool& pool, RegistryClient& registries,
                                                    Logger log);
    virtual ~ImageStore() = default;

    /// Makes sure that the newest image of `reference` is present. Concurrent pulls of one image share their work. Errors: NotFound (no
    /// such image; or no entry for this host, with the available ones), Unauthorized, Forbidden, BadRequest (invalid reference), Invalid (a
    /// damaged image, or one that cannot run here: the message starts with "ImageOSVersionMismatch:" for another build and with
    /// "ImageOSMismatch:" for another system), Unavailable, Io (disk full ...).
    virtual Task<Image> pull(std::string reference, Credentials credentials) = 0;
    /// Imports the images for this host from a `docker save` or OCI archive: a tar file (also gzip or zstd) or a directory with the same
    /// content. Entries for other hosts in the same archive are skipped; an archive without any for this one is an error as above.
    virtual Task<std::vector<Image>> import_archive(std::string path) = 0;

    /// By id, unambiguous beginning of an id (≥ 7 digits), tag or digest reference; ":latest" is implied. Valid until the next await.
    virtual const Image* find(const std::string& reference) const = 0;
    /// By id.
    virtual std::vector<Image> list() const = 0;
    /// Deletes the image with all its names, given by any of them; success if it does not exist. Its layers are deleted once they are not
    /// held.
    virtual Task<> remove(std::string reference) = 0;

    /// Keeps the directories of `image.lower_folders` (from list(), find() or from an earlier run of the program) on the disk. A container
    /// holds them from before its mount until after its unmount.
    virtual Hold hold(const std::vector<std::string>& lower_folders) = 0;
    /// Deletes layers without image or hold, and leftovers of interrupted work. Call it after the start, once the layers of existing
    /// containers are held; the store itself calls it after each removal.
    virtual Task<> collect_garbage() = 0;

    struct Usage {
        std::string mountpoint;
        std::uint64_t bytes = 0, inodes = 0;
    };
    virtual Task<Usage> usage() = 0;
};

}  // namespace porthole::winhost
