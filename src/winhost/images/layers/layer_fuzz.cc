// A layer's tar file, packed or not, into a folder of its own: whatever it says, nothing appears beside that folder.
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "winhost/images/layers/layer_unpacker.h"

namespace fs = std::filesystem;
namespace {

/// Deleted at the end of the process.
struct Root {
    Root() { name = ::mkdtemp(name.data()); }
    ~Root() {
        std::error_code ignored;
        fs::remove_all(name, ignored);
    }
    std::string name = "/tmp/layer-fuzz-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::winhost;
    static const Root root;
    const std::string folder = root.name + "/in";
    fs::create_directories(folder);
    const auto tar = make_unpacking_source(make_text_source({reinterpret_cast<const char*>(data), size}));
    static_cast<void>(unpack_layer(*tar, {.folder = folder, .drive_path = "c"}));
    if (std::distance(fs::directory_iterator(root.name), fs::directory_iterator()) != 1) std::abort();
    fs::remove_all(folder);
    return 0;
}
