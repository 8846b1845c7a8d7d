#include "csi_proxy/local_files.h"

#include "base/strings.h"
#include "csi_proxy/held_removal.h"

namespace porthole::csi_proxy {
namespace {

constexpr std::uint32_t DirectoryMode = 0755;

class LocalFiles final : public Files {
public:
    LocalFiles(FileSystem& files, const PathRules& rules) : files_(files), rules_(rules) {}

    Result<bool> exists(const std::string& path) override {
        TRY_VOID(check_way(path));
        const auto found = files_.link_status(path);
        if (!found && !is_not_found(found)) return found.error();
        return found.has_value();
    }
    Result<void> create_directories(const std::string& path) override {
        TRY_VOID(check_way(path));
        return files_.create_directories(path, DirectoryMode);
    }
    Result<void> remove(const std::string& path) override {
        if (const auto removed = remove_held(rules_.directory_of(path), path, Removal::One)) return *removed;
        TRY_VOID(check_way(path));
        return files_.remove(path);
    }
    Result<void> remove_all(const std::string& path) override {
        if (const auto removed = remove_held(rules_.directory_of(path), path, Removal::Tree)) return *removed;
        TRY_VOID(check_way(path));
        return files_.remove_all(path);
    }
    Result<void> remove_contents(const std::string& path) override {
        if (const auto removed = remove_held(rules_.directory_of(path), path, Removal::Contents)) return *removed;
        TRY_VOID(check_way(path));
        TRY(const FileStatus found, files_.link_status(path));
        if (!found.is_directory()) return Error(Reason::BadRequest, path + " is not a directory");
        TRY(const auto names, files_.list(path));
        for (const std::string& name : names) TRY_VOID(files_.remove_all(path + "\\" + name));
        return {};
    }
    Result<void> create_link(const std::string& target, const std::string& link) override {
        TRY_VOID(check_way(link));
        TRY_VOID(check_way(target));
        return files_.create_symlink(target, link);
    }
    Result<void> link_share(const std::string& remote, const std::string& link) override {
        TRY_VOID(check_way(link));
        // Windows makes links of two kinds, and has to see the directory for the right one.
        TRY(const FileStatus share, files_.status(remote));
        if (!share.is_directory()) return Error(Reason::BadRequest, remote + " is not a directory");
        const auto found = files_.link_status(link);
        if (!found && !is_not_found(found)) return found.error();
        if (found && found->type == FileType::Symlink && equal_ignoring_case(files_.read_link(link).value_or(""), remote)) return {};
        if (found) {
            const bool replaceable = found->type == FileType::Symlink || found->is_directory();
            if (!replaceable || !files_.remove(link))
                return Error(Reason::AlreadyExists, link + " exists, and is neither a link nor an empty directory");
        }
        return files_.create_symlink(remote, link);
    }
    Result<bool> is_link(const std::string& path) override {
        TRY_VOID(check_way(path));
        TRY(const FileStatus found, files_.link_status(path));
        return found.type == FileType::Symlink && files_.status(path).has_value();
    }

private:
    /// Of the directories above `path`, from the kubelet's own down.
    Result<void> check_way(const std::string& path) {
        for (std::size_t at = rules_.directory_of(path).size(); (at = path.find('\\', at + 1)) != path.npos;) {
            const std::string above = path.substr(0, at);
            const auto found = files_.link_status(above);
            if (is_not_found(found)) return {};
            if (!found) return found.error();
            if (found->type == FileType::Symlink) return Error(Reason::Forbidden, path + " contains a link: " + above);
        }
        return {};
    }

    FileSystem& files_;
    const PathRules& rules_;
};

}  // namespace

std::unique_ptr<Files> make_local_files(FileSystem& files, const PathRules& rules) { return std::make_unique<LocalFiles>(files, rules); }

}  // namespace porthole::csi_proxy
