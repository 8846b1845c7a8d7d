#include "kubelet/volumes/framework/mounter.h"

namespace porthole::kubelet {
namespace {

class PlainMounter final : public Mounter {
public:
    explicit PlainMounter(FileSystem& files) : files_(files) {}

    Result<void> mount_memory(const std::string&, std::uint64_t) override { return {}; }

    Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string&) override {
        if (sub_path.find(':') != std::string::npos) return Error(Reason::Forbidden, sub_path + " names a stream or another drive");
        TRY(const std::string real_root, files_.real_path(root));
        TRY(const std::string real, files_.real_path(join_path(root, sub_path)));
        const bool beneath = real.starts_with(real_root) &&
                             (real.size() == real_root.size() || real[real_root.size()] == '/' || real[real_root.size()] == '\\');
        if (!beneath) return Error(Reason::Forbidden, sub_path + " leads out of the volume");
        return real;
    }

    Result<void> unmount(const std::string&) override { return {}; }
    Result<std::vector<std::string>> mounts_below(const std::string&) override { return std::vector<std::string>(); }

private:
    FileSystem& files_;
};

}  // namespace

std::unique_ptr<Mounter> make_plain_mounter(FileSystem& files) { return std::make_unique<PlainMounter>(files); }

}  // namespace porthole::kubelet
