#pragma once
#include <memory>
#include <string>

#include "csi_proxy/host.h"
#include "winhost/bundle/held_tree.h"

namespace porthole::winhost {

/// File operations of an emulated host's CSI proxy: on Linux, in the host's root file system, because Wine cannot create links.
/// Links are relative, so that the host's programs and its containers' mounts follow them too.
class CsiFiles : public csi_proxy::Files {
public:
    /// `link` leads to `target`, in place of another link or an empty directory. Errors: AlreadyExists if anything else exists; NotFound
    /// if the target does not.
    virtual Result<void> put_link(const std::string& target, const std::string& link) = 0;
    /// What a path leads to if its links are followed, below the host's root only.
    virtual Result<FileId> leads_to(const std::string& path) = 0;
};

/// In the root file system `root`.
std::unique_ptr<CsiFiles> make_csi_files(std::string root);

}  // namespace porthole::winhost
