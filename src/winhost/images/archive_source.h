#pragma once  // private to this folder
#include <map>

#include "winhost/images/content/image_source.h"

namespace porthole::winhost {

/// Images in an archive: the output of `docker save` or an OCI image layout, as a tar file (also gzip or zstd) or as a directory. Its
/// content is not trusted: digests are verified, sizes limited.
class ArchiveSource final : public LayerSupply {
public:
    /// Blocking; a packed archive is unpacked to `scratch`. Errors: NotFound, Invalid, Io.
    static Result<std::unique_ptr<ArchiveSource>> open(std::string path, std::string scratch);
    ~ArchiveSource() override;

    /// One plan for each image that the host can run. Blocking. Error: that of the first image if there is no such image.
    Result<std::vector<ImagePlan>> plans(const HostPlatform& host);
    Task<BlobPlace> fetch(LayerPlan layer, std::string scratch) override;

private:
    Result<void> index_tar(const std::string& path);
    Result<BlobPlace> place(const std::string& name) const;
    Result<std::string> text(const std::string& name, std::size_t limit);
    Result<std::string> blob_text(const Descriptor& descriptor, std::size_t limit);
    Result<void> expand(const Manifest& list, std::vector<Descriptor>& manifests, int depth);
    Result<ImagePlan> plan_of_oci(const std::vector<Descriptor>& entries, const HostPlatform& host);
    Result<std::vector<ImagePlan>> plans_of_oci(const HostPlatform& host);
    Result<std::vector<ImagePlan>> plans_of_docker(const HostPlatform& host);

    std::string folder_;     ///< "" for a tar file
    std::string temporary_;  ///< the unpacked copy, removed with us
    std::map<std::string, BlobPlace> entries_;
    std::map<std::string, std::string> links_;  ///< Docker of old links layers that images share
    std::size_t text_read_ = 0;                 ///< of manifests, lists and configurations
};

}  // namespace porthole::winhost
