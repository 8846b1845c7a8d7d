#include "kubelet/volumes/framework/mounter.h"

namespace porthole::kubelet {
namespace {

class PlainMounter final : public Mounter {
public:
    explicit PlainMounter(FileSystem& files) : files_(files) {}

    Result<void> mount_memory(const std::string&, std::uint64_t) override { return {}; }

    Result<void> mount_huge_pages(const std::string&, std::uint64_t) override {
        return Error(Reason::BadRequest, "this system has no file system of huge pages");
    }

    Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string&) override {
        if (sub_path.find(':') != std::string::npos) return Error(Reason::Forbidden, sub_path + " names a stream or another drive");
        TRY(const std::string real_root, files_.real_path(root));
        TRY(const std::string real, files_.real_path(join_path(root, sub_path)));
        const bool beneath = real.starts_with(real_root) &&
                             (real.size() == real_root.size() || real[real_root.size()] == '/' || real[real_root.size()] == '\\');
        if (!beneath) return Error(Reason::Forbidden, sub_path + " is outside the volume");
        return real;
    }

    Result<void> make_beneath(const std::string& root, const std::string& sub_path) override {
        TRY(const FileStatus volume, files_.status(root));
        for (std::size_t slash = 0; slash != std::string::npos;) {
            slash = sub_path.find('/', slash == 0 ? 0 : slash + 1);
            const std::string part = join_path(root, sub_path.substr(0, slash));
            if (files_.exists(part)) continue;
            TRY_VOID(files_.create_directories(part, 0750));
            TRY_VOID(files_.change_owner(part, std::nullopt, volume.gid));
            TRY_VOID(files_.change_mode(part, volume.mode));
        }
        return {};
    }

    Result<void> make_read_only(const std::string& directory) override {
        return Error(Reason::BadRequest, directory + " is not a mount: this system has none");
    }
    Result<void> unmount(const std::string&) override { return {}; }
    Result<std::vector<std::string>> mounts_below(const std::string&) override { return std::vector<std::string>(); }

private:
    FileSystem& files_;
};

}  // namespace

std::unique_ptr<Mounter> make_plain_mounter(FileSystem& files) { return std::make_unique<PlainMounter>(files); }

}  // namespace porthole::kubelet
