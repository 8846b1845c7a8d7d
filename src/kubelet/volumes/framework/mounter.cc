#include "kubelet/volumes/framework/mounter.h"

#include <algorithm>

#include "base/strings.h"

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
        TRY_VOID(names_of(sub_path));
        return real_path_beneath(root, join_path(root, sub_path));
    }

    Result<void> make_beneath(const std::string& root, const std::string& sub_path) override {
        TRY(const std::vector<std::string> names, names_of(sub_path));
        TRY(const FileStatus volume, files_.status(root));
        std::string part = root;
        for (const std::string& name : names) {
            TRY_VOID(real_path_beneath(root, part));
            part = join_path(part, name);
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
    /// By either separator: the API knows one of them only.
    static Result<std::vector<std::string>> names_of(std::string sub_path) {
        if (sub_path.contains(':')) return Error(Reason::Forbidden, sub_path + " names a stream or another drive");
        std::ranges::replace(sub_path, '\\', '/');
        std::vector<std::string> names = split_nonempty(sub_path, '/');
        if (std::ranges::find(names, "..") != names.end()) return Error(Reason::Forbidden, sub_path + " is outside the volume");
        return names;
    }
    Result<std::string> real_path_beneath(const std::string& root, const std::string& path) {
        TRY(const std::string real_root, files_.real_path(root));
        TRY(std::string real, files_.real_path(path));
        const bool beneath = real.starts_with(real_root) &&
                             (real.size() == real_root.size() || real[real_root.size()] == '/' || real[real_root.size()] == '\\');
        if (!beneath) return Error(Reason::Forbidden, path + " is outside the volume");
        return real;
    }

    FileSystem& files_;
};

}  // namespace

std::unique_ptr<Mounter> make_plain_mounter(FileSystem& files) { return std::make_unique<PlainMounter>(files); }

}  // namespace porthole::kubelet
