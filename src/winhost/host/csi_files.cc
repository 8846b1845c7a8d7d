#include "winhost/host/csi_files.h"

#include <algorithm>

#include "winhost/host/smb_shares.h"
#include "winhost/runtime/container_root.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

constexpr std::uint32_t FolderMode = 0755;
using Names = std::vector<std::string>;

std::string joined(const Names& names, std::size_t first = 0) {
    std::string path;
    for (std::size_t i = first; i < names.size(); ++i) path += (path.empty() ? "" : "/") + names[i];
    return path;
}

/// From the folder of `link`.
std::string relative_path(const Names& target, const Names& link) {
    std::size_t same = 0;
    while (same + 1 < link.size() && same < target.size() && target[same] == link[same]) ++same;
    std::string path;
    for (std::size_t i = same + 1; i < link.size(); ++i) path += "../";
    const std::string rest = joined(target, same);
    return rest.empty() ? path + "." : path + rest;
}

class LinuxCsiFiles final : public CsiFiles {
public:
    explicit LinuxCsiFiles(std::string root) : root_(std::move(root)), drive_(drive_of(root_)) {}

    Result<bool> exists(const std::string& path) override {
        TRY(const Place place, find(path));
        const auto type = place.tree.type(place.path);
        if (!type && !is_not_found(type)) return type.error();
        return type.has_value();
    }
    Result<void> create_directories(const std::string& path) override {
        TRY(const Place place, find(path));
        return place.tree.create_directories(place.path, FolderMode);
    }
    Result<void> remove(const std::string& path) override {
        TRY(const Place place, find(path));
        return place.tree.remove(place.path);
    }
    Result<void> remove_all(const std::string& path) override {
        TRY(const Place place, find(path));
        return place.tree.remove_all(place.path);
    }
    Result<void> remove_contents(const std::string& path) override {
        TRY(const Place place, find(path));
        return place.tree.remove_contents(place.path);
    }
    Result<void> create_link(const std::string& target, const std::string& link) override {
        TRY(const Place to, find(target));
        TRY(const Place from, find(link));
        if (from.tree.type(from.path)) return Error(Reason::AlreadyExists, link + " exists already");
        return from.tree.create_symlink(relative_path(to.names, from.names), from.path);
    }
    Result<void> link_share(const std::string& remote, const std::string& link) override {
        TRY(const std::string share, place_of_share(remote));
        const auto put = put_link(share, link);
        return is_not_found(put) ? Error(Reason::NotFound, remote + " is not there") : put;
    }
    Result<void> put_link(const std::string& target, const std::string& link) override {
        TRY(const Place to, find(target));
        TRY(const Place from, find(link));
        const auto there = from.tree.type(from.path);
        if (!there && !is_not_found(there)) return there.error();
        // Neither a file nor a directory with something in it is replaced.
        if (there && *there != FileType::Symlink && *there != FileType::Directory)
            return Error(Reason::AlreadyExists, link + " exists already");
        if (there && !from.tree.remove(from.path)) return Error(Reason::AlreadyExists, link + " exists already and is not empty");
        TRY_VOID(from.tree.create_symlink(relative_path(to.names, from.names), from.path));
        if (from.tree.leads_somewhere(from.path)) return {};
        TRY_VOID(from.tree.remove(from.path));
        return Error(Reason::NotFound, target + " is not there");
    }
    Result<FileId> leads_to(const std::string& path) override {
        TRY(const Place place, find(path));
        return place.tree.leads_to(place.path);
    }
    Result<bool> is_link(const std::string& path) override {
        TRY(const Place place, find(path));
        TRY(const FileType type, place.tree.type(place.path));
        return type == FileType::Symlink && place.tree.leads_somewhere(place.path);
    }

private:
    struct Place {
        HeldTree tree;
        Names names;       ///< on the drive, as they are spelled there
        std::string path;  ///< in the tree
    };

    Result<Place> find(const std::string& text) {
        TRY(WindowsPath path, WindowsPath::parse(text));
        if (path.drive != 'c') return Error(Reason::BadRequest, "an emulated host has no drive for " + text);
        TRY(HeldTree tree, HeldTree::open(root_));
        std::string place = drive_.substr(root_.size() + 1);
        for (std::string& name : path.components) {
            name = spelled(tree, place, name);
            place = join_path(place, name);
        }
        return Place{std::move(tree), std::move(path.components), std::move(place)};
    }
    static std::string spelled(const HeldTree& tree, const std::string& folder, const std::string& name) {
        if (tree.type(join_path(folder, name))) return name;
        const Names names = tree.list(folder).value_or(Names());
        const auto same = std::ranges::find_if(names, [&](const std::string& other) { return same_name(other, name); });
        return same == names.end() ? name : *same;
    }

    std::string root_;
    std::string drive_;  ///< below root_
};

}  // namespace

std::unique_ptr<CsiFiles> make_csi_files(std::string root) { return std::make_unique<LinuxCsiFiles>(std::move(root)); }

}  // namespace porthole::winhost
