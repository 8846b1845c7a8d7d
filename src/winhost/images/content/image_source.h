#pragma once  // private to winhost/images
#include <memory>
#include <string>
#include <vector>

#include "runtime/task.h"
#include "winhost/images/content/manifest.h"

namespace porthole::winhost {

/// Bytes in a file, or in a part of it.
struct BlobPlace {
    std::string path;
    std::uint64_t offset = 0, size = 0;
};

/// One layer of an image, and where to get it.
struct LayerPlan {
    std::string diff_id;  ///< digest of the tar file
    Descriptor blob;      ///< digest "" in archives of Docker, which name files instead
    std::string file;     ///< in an archive of Docker
    bool is_base = false;
    bool is_whole_image = false;  ///< there is no other layer
};

/// The parts of an image to be created.
struct ImagePlan {
    std::string id;  ///< digest of `config_text`
    std::string config_text;
    ImageDescription description;
    std::vector<LayerPlan> layers;  ///< lowest first
    std::vector<std::string> tags, digests;
    std::uint64_t size = 0;
};

/// Checks the platform, and that manifest and configuration speak of the same layers. Error: Invalid.
Result<ImagePlan> make_plan(std::string config_text, std::vector<LayerPlan> layers, const HostPlatform& host);

/// Where the layers of a plan come from.
class LayerSupply {
public:
    virtual ~LayerSupply() = default;
    /// `scratch` may be used for a file of that name. The result stays valid while the supply exists.
    virtual Task<BlobPlace> fetch(LayerPlan layer, std::string scratch) = 0;
};

}  // namespace porthole::winhost
