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

/// Windows images on one emulated host: pulls and imports them, keeps their layers as folders for overlayfs, forgets them.
///
/// Layers are unpacked once per (chain of layers, template) because their names are mapped onto the names below them: Windows does not
/// tell `App` from `app`, overlayfs does. Base layers of Windows itself are recognized and neither downloaded nor kept; the template
/// takes their place. Owns the folder `root`. Lives on one loop; unpacking and big deletions go to the pool. Interrupted work leaves
/// nothing that counts as an image, and what it leaves on the disk is removed by the next collect_garbage(). Tasks must end before it is
/// destroyed.
class ImageStore {
public:
    struct Options {
        std::string root;  ///< folder of the store; made if missing
        OsVersion host;    ///< the emulated build
        std::string architecture = "amd64";
        std::vector<std::string> template_lowers;  ///< the template's root folders, topmost first; names are mapped onto theirs
        std::string template_id;                   ///< changes with the template: images laid out for another one are forgotten
        std::string drive_path = "wine/drive_c";   ///< where C:\ is below a layer's (and the template's) root; "" if it is the root
        std::vector<std::string> pinned;           ///< references that are pinned once they are there: the sandbox image
    };

    /// What a holder keeps from being deleted until it lets go.
    using Hold = std::shared_ptr<const void>;

    /// Reads what is there. Errors: Io; Conflict when another store has the folder open.
    static Result<std::unique_ptr<ImageStore>> open(Options options, EventLoop& loop, WorkerPool& pool, RegistryClient& registries,
                                                    Logger log);
    virtual ~ImageStore() = default;

    /// Makes sure that the newest image of `reference` is here. Pulls of one image at the same time share their work.
    /// Errors: NotFound (no such image; or no entry for this host, the message names what is offered), Unauthorized, Forbidden,
    /// BadRequest (not a reference), Invalid (a broken image, or one that cannot run here: the message starts with
    /// "ImageOSVersionMismatch:" for another build and with "ImageOSMismatch:" for another system), Unavailable, Io (disk full ...).
    virtual Task<Image> pull(std::string reference, Credentials credentials) = 0;
    /// Takes the images for this host out of a `docker save` or OCI archive: a tar file (also gzip or zstd) or a folder with the same
    /// content. Entries for other hosts in the same archive are passed over; an archive without any for this one is an error as above.
    virtual Task<std::vector<Image>> import_archive(std::string path) = 0;

    /// By id, unambiguous beginning of an id (≥ 7 digits), tag or digest reference; ":latest" is implied. Valid until the next await.
    virtual const Image* find(const std::string& reference) const = 0;
    /// By id.
    virtual std::vector<Image> list() const = 0;
    /// Forgets the image with all its names, also given by one of them; success if it is not there. Its layers are deleted when no one
    /// holds them.
    virtual Task<> remove(std::string reference) = 0;

    /// Keeps the folders of `image.lower_folders` (from list(), find() or from an earlier run of the program) on the disk. A container
    /// takes one before it mounts and releases it after it has unmounted.
    virtual Hold hold(const std::vector<std::string>& lower_folders) = 0;
    /// Deletes layers without image or hold, and what interrupted work left. Call it after the start, once the containers that are
    /// still there are held; the store itself calls it after each removal.
    virtual Task<> collect_garbage() = 0;

    struct Usage {
        std::string mountpoint;
        std::uint64_t bytes = 0, inodes = 0;
    };
    virtual Task<Usage> usage() = 0;
};

}  // namespace porthole::winhost
